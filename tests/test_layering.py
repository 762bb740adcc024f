"""Imports go strictly downward, not between packages of one layer; folders keep their budgets."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "ringmaster"

LAYERS = [
    {"errors"},
    {"model"},
    {"engines", "games", "positions"},
    {"formats"},
    # parameter files are text, which `formats` reads
    {"play", "demo", "datasets", "parameter_files"},
    {"tuners", "stats"},
    {"competitions"},
    {"control", "storage", "execution", "reporting"},
    {"conditions", "sources"},
    {"loaded_competition"},
    {"run_control", "run_events"},
    {"results", "player_checks", "run_log"},
    {"ringmaster", "export", "scaffold", "forecast"},
    {"page_data"},
    {"server"},
    {"commands"},
    {"cli"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

#: Packages that may import fewer packages than their layer allows.
NARROWED = {
    "competitions": {
        "errors",
        "model",
        "games",
        "formats",
        "positions",
        "datasets",
        "tuners",
        "stats",
    },
    "positions": {"errors", "model"},
    "formats": {"errors", "model", "games"},
    "datasets": {"errors", "model", "games", "formats", "positions"},
    "execution": {"errors", "model"},
    "storage": {"errors", "model"},
    "parameter_files": {"errors", "model", "formats"},
    "reporting": {"errors", "model"},
    "tuners": {"errors", "model"},
    "stats": {"errors", "model"},
}


#: The most lines of each folder, and of the modules beside the folders.  Who raises one number
#: lowers another in the same commit.
BUDGET = {
    "": 2881,
    "commands": 2575,
    "competitions": 18093,
    "control": 4076,
    "datasets": 2174,
    "demo": 1518,
    "engines": 3782,
    "execution": 4134,
    "export": 944,
    "forecast": 1052,
    "formats": 3517,
    "games": 2195,
    "model": 2887,
    "parameter_files": 1053,
    "play": 3813,
    "positions": 434,
    "reporting": 2588,
    "results": 1448,
    "scaffold": 2755,
    "server": 598,
    "sources": 467,
    "stats": 1219,
    "storage": 2996,
    "tuners": 7631,
}


def home(module: str) -> str:
    """Return the package or top module that a dotted name belongs to."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports(path: Path) -> set[str]:
    """Return the packages and top modules of ringmaster that a module imports."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            modules.add(module)
            if module == "ringmaster":
                modules |= {f"ringmaster.{alias.name}" for alias in node.names}
    names = {home(name) for name in modules if name.split(".")[0] == "ringmaster"}
    return {name for name in names if name and not name.startswith("__version")}


MODULES = sorted(PACKAGE.rglob("*.py"))


def forbidden(path: Path) -> list[str]:
    """Return the imports of a module that its layer does not allow, one line each."""
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own == "__init__":
        # `load`, inside a function, so that the command starts fast: tests/test_results.py
        return [f"__init__ imports {other}" for other in sorted(imports(path) - {"results"})]
    lines = []
    for other in sorted(imports(path) - {own}):
        if other not in LEVEL:
            lines.append(f"{other} has no layer")
        elif LEVEL[other] >= LEVEL[own]:
            lines.append(f"{own} imports {other}, which is not below it")
        elif other not in NARROWED.get(own, {other}):
            lines.append(f"{own} must not import {other}")
    return [f"{path.relative_to(PACKAGE)}: {line}" for line in lines]


def test_every_module_imports_only_lower_layers() -> None:
    assert [line for path in MODULES for line in forbidden(path)] == []


def test_every_part_of_the_package_has_a_layer() -> None:
    parts = {p.name.removesuffix(".py") for p in PACKAGE.iterdir() if p.suffix in ("", ".py")}
    assert parts - {"__init__", "__pycache__"} == set(LEVEL)


def test_no_folder_passes_its_budget_of_lines() -> None:
    lines: Counter[str] = Counter()
    for path in MODULES:
        folder = path.relative_to(PACKAGE).parts[0]
        text = path.read_text(encoding="utf-8")
        lines["" if folder.endswith(".py") else folder] += len(text.splitlines())
    assert lines.keys() == BUDGET.keys()
    assert {
        name: f"{n}, {n - BUDGET[name]} too many" for name, n in lines.items() if n > BUDGET[name]
    } == {}
