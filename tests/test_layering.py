"""Imports go strictly downward, and packages on one layer do not know each other."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "ringmaster"

LAYERS = [
    {"errors"},
    {"waiting"},
    {"model"},
    {"engines", "games", "parameter_files", "positions"},
    {"play", "demo", "datasets"},
    {"tuners", "stats"},
    {"competitions"},
    {"control", "storage", "execution", "reporting"},
    {"conditions"},
    {"event"},
    {"results", "player_checks", "chronicle"},
    {"ringmaster", "export", "scaffold", "forecast"},
    {"command_line"},
    {"cli"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

#: What a package may see although the layers alone would allow more.
NARROWED = {
    "competitions": {"errors", "model", "games", "positions", "datasets", "tuners", "stats"},
    "positions": {"errors", "model"},
    "datasets": {"errors", "model", "games", "positions"},
    "execution": {"errors", "model", "waiting"},
    "storage": {"errors", "model"},
    "parameter_files": {"errors", "model"},
    "reporting": {"errors", "model"},
    "tuners": {"errors", "model"},
    "stats": {"errors", "model"},
}


def home(module: str) -> str:
    """Return the package or top module that a dotted name belongs to."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            found.add(module)
            if module == "ringmaster":
                found |= {f"ringmaster.{alias.name}" for alias in node.names}
    names = {home(name) for name in found if name.split(".")[0] == "ringmaster"}
    return {name for name in names if name and not name.startswith("__version")}


MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_module_imports_only_what_lies_below_it(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own == "__init__":
        # `load`, inside a function, so that the command starts fast: tests/test_results.py
        assert imports(path) == {"results"}
        return
    for other in imports(path) - {own}:
        assert other in LEVEL, f"{other} has no layer"
        assert LEVEL[other] < LEVEL[own], f"{own} imports {other}"
        if own in NARROWED:
            assert other in NARROWED[own], f"{own} must not know {other}"


def test_every_part_of_the_package_has_a_layer() -> None:
    parts = {p.name.removesuffix(".py") for p in PACKAGE.iterdir() if p.suffix in ("", ".py")}
    assert parts - {"__init__", "__pycache__"} == set(LEVEL)


def test_no_module_grows_beyond_600_lines() -> None:
    long = {
        str(path.relative_to(PACKAGE)): lines
        for path in MODULES
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 600
    }
    assert long == {}
