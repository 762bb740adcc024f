"""The list of compiled modules, and code that mypyc would compile to something else."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(not (ROOT / "setup.py").exists(), reason="no source tree here")


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load_build(monkeypatch, None)


def load_build(monkeypatch: pytest.MonkeyPatch, setting: str | None) -> ModuleType:
    """Load setup.py as pip does, with a value of RINGMASTER_COMPILE."""
    monkeypatch.delenv("RINGMASTER_COMPILE", raising=False)
    if setting is not None:
        monkeypatch.setenv("RINGMASTER_COMPILE", setting)
    spec = importlib.util.spec_from_file_location("ringmaster_build", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def trees(build: ModuleType) -> Iterator[tuple[str, ast.Module]]:
    for source in build.sources():
        yield source, ast.parse((ROOT / source).read_text())


@pytest.mark.parametrize(("setting", "compiles"), [(None, False), ("0", False), ("1", True)])
def test_only_a_demand_compiles(
    monkeypatch: pytest.MonkeyPatch, setting: str | None, compiles: bool
) -> None:
    build = load_build(monkeypatch, setting)
    assert compiles is build.IS_COMPILED
    for hook in (build.get_requires_for_build_wheel, build.get_requires_for_build_editable):
        monkeypatch.setattr(build.build_meta, hook.__name__, lambda settings: ["wheel"])
        assert hook() == ["wheel", *(build.REQUIREMENTS if compiles else [])]


#: What may be called within a slice: mypyc evaluates it twice where it does not know the
#: type (found with `data[os.write(fd, data) :]`, which wrote everything twice).
PURE = {"len", "min", "max", "start", "end"}


@pytest.mark.slow
def test_nothing_is_done_twice_where_mypyc_evaluates_a_slice_twice(
    build: ModuleType,
) -> None:
    found = [
        f"{source}:{call.lineno} {ast.unparse(call)}"
        for source, tree in trees(build)
        for part in ast.walk(tree)
        if isinstance(part, ast.Slice)
        for call in ast.walk(part)
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] not in PURE
    ]
    assert found == []


#: Comparisons by identity, of objects that are never tuples: mypyc takes those apart.
OBJECTS = {
    "near is not chain",
    "piece is kinds['P']",
    "piece is kinds['K']",
    "at.get(corner) is rook",
    "limits is not self._limits",
}


def test_only_objects_with_an_identity_are_compared_by_it(build: ModuleType) -> None:
    found = {
        ast.unparse(compared)
        for _, tree in trees(build)
        for compared in ast.walk(tree)
        if isinstance(compared, ast.Compare)
        for operator, right in zip(compared.ops, compared.comparators, strict=True)
        if isinstance(operator, (ast.Is, ast.IsNot)) and not isinstance(right, ast.Constant)
    }
    assert found == OBJECTS
