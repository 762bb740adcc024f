"""Makes docs/reference/* from the settings tables.

`python scripts/make_reference.py` writes the pages; with `--check` it fails if
they are out of date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ringmaster.competitions import competition_class, type_names
from ringmaster.control.reference import changes_rst, reference_rst

FOLDER = Path(__file__).parent.parent / "docs" / "reference"


def pages() -> dict[str, str]:
    """Return the text of every page by file name."""
    tables = {}
    for name in type_names():
        found = competition_class(name)
        assert found is not None
        tables[name] = found.table
    made = {f"{name}.rst": reference_rst(name, table) for name, table in tables.items()}
    # included by docs/changing.rst
    return {**made, "changes.txt": changes_rst(tables)}


def main() -> int:
    stale = []
    for name, text in pages().items():
        path = FOLDER / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print(f"out of date: {', '.join(stale)}; run scripts/make_reference.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
