"""Comparison of reports and messages with the files in tests/golden.

`RINGMASTER_GOLDEN=write pytest …` writes the files anew; read the difference before a commit.
"""

from __future__ import annotations

import os
from pathlib import Path

GOLDEN = Path(__file__).parent.parent / "golden"


def check_golden(name: str, text: str) -> None:
    """Compare a text with a golden file."""
    path = GOLDEN / f"{name}.txt"
    # ends of lines have no meaning
    text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    if os.environ.get("RINGMASTER_GOLDEN") == "write":
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")
