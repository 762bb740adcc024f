"""Everything that a competition type needs exists for every type of the registry."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ringmaster.competitions import competition_class, type_names
from ringmaster.competitions.competition import Competition
from ringmaster.scaffold.skeletons import SKELETONS
from scripts import make_reference
from tests.competitions.test_interruptions import SETTINGS

ROOT = Path(__file__).parent.parent
COMPETITIONS = ROOT / "tests" / "competitions"
every_type = pytest.mark.parametrize("type_name", type_names())


@every_type
def test_class_of_a_type_has_its_name(type_name: str) -> None:
    competition = competition_class(type_name)
    assert competition is not None
    assert competition.type_name == type_name


def test_new_has_a_skeleton_of_every_type_and_of_no_other() -> None:
    assert set(SKELETONS) == set(type_names())


@every_type
def test_interruptions_of_a_type_are_tested(type_name: str) -> None:
    own = [*COMPETITIONS.glob(f"test_{type_name}*.py"), *COMPETITIONS.glob(f"{type_name}/*.py")]
    tests = re.findall(r"^def test_\w*interrupt", "".join(map(_text, own)), re.MULTILINE)
    assert type_name in SETTINGS or tests


@every_type
def test_control_file_shows_a_type(type_name: str) -> None:
    declared = re.compile(rf'^competition_type = "{type_name}"$', re.MULTILINE)
    assert any(declared.search(_text(path)) for path in ROOT.glob("controlfiles/*.ctl"))


def test_reference_describes_every_setting_of_every_type() -> None:
    # a setting without a group or an example in settings.toml ends the script
    pages = {Path(name).name: text for name, text in make_reference.pages().items()}
    for type_name in type_names():
        text = pages[f"{type_name}.rst"] + pages["common.rst"]
        described = set(re.findall(r"^\.\. setting:: (?:\w+\.)?(\w+)$", text, re.MULTILINE))
        competition = competition_class(type_name)
        assert competition is not None
        assert {setting.name for setting in competition.table} <= described
        assert f"\n{type_name}\n~" in f"\n{pages['changes.txt']}"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_contract_of_a_competition_has_at_most_16_methods() -> None:
    public = [name for name, value in vars(Competition).items() if callable(value)]
    assert len([name for name in public if name == "__init__" or name[0] != "_"]) <= 16
