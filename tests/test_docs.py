"""Examples in the documentation work."""

from __future__ import annotations

import re
import shlex
import shutil
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ringmaster.commands import command_line
from ringmaster.competitions import competition_class, type_names
from ringmaster.control.calls import calls_in
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.settings import INHERITED, Call, CallOf, Context
from scripts import make_reference
from tests.requirements import package

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.rst",
    *sorted((ROOT / "docs").glob("*.rst")),
    *sorted((ROOT / "docs" / "tutorials").glob("*.rst")),
]
#: The first word of a block that is no part of a control file.
OTHER = re.compile(r"competition_type|import|\$")
#: Surroundings of the lines of a recipe.
HEAD = """competition_type = "playoff"
game = "chess"
players = {"new": Player("./engine-new"), "old": Player("./engine-old")}
openings = Openings("book.epd")
matchups = [Matchup("new", "old", number_of_games=2)]
time_control = "1+0.1"
"""


def literal_blocks(page: Path) -> Iterator[tuple[int, str]]:
    """Yield the literal blocks and code blocks of a page: line number, text."""
    lines = page.read_text(encoding="utf-8").split("\n")
    for place, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        is_code = re.match(r" *\.\. code-block::", line)
        if not (is_code or (line.endswith("::") and not line.lstrip().startswith(".. "))):
            continue
        block = []
        for inner in lines[place + 1 :]:
            if inner.strip() and len(inner) - len(inner.lstrip()) <= indent:
                break
            block.append(inner)
        yield place + 1, textwrap.dedent("\n".join(block)).strip("\n") + "\n"


def control_files() -> Iterator[Any]:
    for page in PAGES:
        for line, block in literal_blocks(page):
            text = block
            if page.name == "getting_started.rst" and not OTHER.match(block):
                text = HEAD + block
            if text.startswith("competition_type"):
                # an ellipsis stands for more of the same
                text = text.replace(", …]", "]")
                marks = [pytest.mark.slow] if "optuna_tuner" in text else []
                yield pytest.param(text, id=f"{page.stem}-{line}", marks=marks)


@pytest.mark.parametrize("text", list(control_files()))
def test_control_file_of_the_documentation_loads(text: str, tmp_path: Path) -> None:
    if "optuna_tuner" in text:
        package("optuna")
    shutil.copy(ROOT / "controlfiles" / "openings.epd", tmp_path / "book.epd")
    text = text.replace(".plain", ".epd")
    for name in ("selfplay.epd", "set.epd", "more.epd"):
        shutil.copy(ROOT / "controlfiles" / "texel_positions.epd", tmp_path / name)
    (tmp_path / "doc.ctl").write_text(text, encoding="utf-8")
    LoadedCompetition(tmp_path / "doc.ctl").prepare()


def commands() -> Iterator[Any]:
    for page in PAGES:
        for number, block in literal_blocks(page):
            for line in block.replace("\\\n", " ").split("\n"):
                if match := re.match(r"(?:\$ )?(?:nohup )?ringmaster (.*)", line):
                    yield pytest.param(match[1], id=f"{page.stem}-{number}-{match[1][:40]}")


@pytest.mark.parametrize("line", list(commands()))
def test_command_of_the_documentation_parses(line: str) -> None:
    words = shlex.split(re.split(r"[>|&]", line)[0], comments=True)
    command_line.read(words)


@pytest.mark.parametrize("type_name", type_names())
def test_examples_of_the_reference_are_valid(type_name: str, tmp_path: Path) -> None:
    competition = competition_class(type_name)
    assert competition is not None
    calls = calls_in(competition.table)
    names: dict[str, Any] = {kind: caller(call) for kind, call in calls.items()}
    entries = [(type_name, setting) for setting in competition.table]
    entries += [
        (f"{kind}.{type_name}", setting)
        for kind, call in calls.items()
        for setting in call.settings
    ]
    context = Context(tmp_path)
    for owner, setting in entries:
        if setting.default is not INHERITED:
            value = eval(make_reference.example(setting, owner), dict(names))
            setting.type.interpret(value, (owner, setting.name), context)
    assert [(problem.path, str(problem)) for problem in context.problems] == []


def caller(call: CallOf) -> Callable[..., Call]:
    return lambda *args, **kwargs: Call(call.kind, args, kwargs, None, call.positional)


def test_groups_and_examples_of_the_reference_belong_to_settings() -> None:
    names: set[str] = set()
    for type_name in type_names():
        competition = competition_class(type_name)
        assert competition is not None
        names |= {setting.name for setting in competition.table}
        for call in calls_in(competition.table).values():
            names |= {setting.name for setting in call.settings}
    listed = {name for group in make_reference.GROUPS.values() for name in group}
    listed |= {key.rpartition(".")[2] for key in make_reference.VALUES}
    assert listed - names == set()
