"""What is compiled, and when; and what mypyc would make something else of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(
    not (ROOT / "scripts/compiling.py").exists(), reason="there is no source tree here"
)


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import compiling

    return compiling


def trees(compiling: ModuleType) -> Iterator[tuple[str, ast.Module]]:
    for source in compiling.sources():
        yield source, ast.parse((ROOT / source).read_text())


@pytest.mark.parametrize(
    ("setting", "wheel", "compiler", "wanted"),
    [
        (None, True, "true", True),
        (None, True, "false", False),
        (None, True, "no-such-compiler", False),
        (None, False, "true", False),
        ("1", False, "false", True),
        ("0", True, "true", False),
    ],
)
def test_wheels_are_compiled_where_that_can_be_done_and_all_else_when_it_is_asked_for(
    compiling: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    setting: str | None,
    wheel: bool,
    compiler: str,
    wanted: bool,
) -> None:
    monkeypatch.setenv("CC", compiler)
    monkeypatch.delenv("RINGMASTER_COMPILE", raising=False)
    if setting is not None:
        monkeypatch.setenv("RINGMASTER_COMPILE", setting)
    assert compiling.wanted(wheel=wheel) is wanted


def test_other_settings_are_refused(compiling: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGMASTER_COMPILE", "yes")
    with pytest.raises(SystemExit, match="'yes' is neither 0 nor 1"):
        compiling.wanted(wheel=True)


def test_without_mypyc_it_is_left_as_it_is_unless_it_has_to_be_compiled(
    compiling: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> list[object]:
        raise ImportError("no mypyc here")

    monkeypatch.setattr(compiling, "_make", fail)
    monkeypatch.setenv("CC", "true")
    monkeypatch.delenv("RINGMASTER_COMPILE", raising=False)
    assert compiling.extensions(wheel=True) == []
    assert "is not compiled, and plays no worse: no mypyc here" in capsys.readouterr().err
    monkeypatch.setenv("RINGMASTER_COMPILE", "1")
    with pytest.raises(ImportError, match="no mypyc here"):
        compiling.extensions(wheel=True)


#: What may be called within a slice: mypyc evaluates it twice where it does not know the
#: type (found with `data[os.write(fd, data) :]`, which wrote everything twice).
PURE = {"len", "min", "max", "start", "end"}


def test_nothing_is_done_twice_where_mypyc_evaluates_a_slice_twice(
    compiling: ModuleType,
) -> None:
    found = [
        f"{source}:{call.lineno} {ast.unparse(call)}"
        for source, tree in trees(compiling)
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


def test_only_objects_with_an_identity_are_compared_by_it(compiling: ModuleType) -> None:
    found = {
        ast.unparse(compared)
        for _, tree in trees(compiling)
        for compared in ast.walk(tree)
        if isinstance(compared, ast.Compare)
        for operator, right in zip(compared.ops, compared.comparators, strict=True)
        if isinstance(operator, (ast.Is, ast.IsNot)) and not isinstance(right, ast.Constant)
    }
    assert found == OBJECTS
