"""Every control file in Gomill's documentation loads unchanged, and so does every
fragment of one.  They are read from Gomill's source distribution, which
RINGMASTER_GOMILL points to; no part of it is in this repository."""

from __future__ import annotations

import ast
import os
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringmaster.competitions import type_names
from ringmaster.loaded_competition import LoadedCompetition

pytestmark = pytest.mark.optional

PLACE = os.environ.get("RINGMASTER_GOMILL", "")

#: The competition type that a page's fragments belong to.
TYPE_OF_PAGE = {"cem_tuner": "ce_tuner", "mcts_tuner": "mc_tuner"}

#: What a fragment needs around it to be a control file.
TUNER = """
players = {"other": Player("engine")}
opponent = "other"
candidate_colour = "w"
board_size = 9
komi = 7.5
"""
SURROUNDINGS = {
    "playoff": "board_size = 9\nkomi = 7.5\n",
    "mc_tuner": f"{TUNER}exploration_coefficient = 0.5\ninitial_visits = 4\ninitial_wins = 2\n",
    "ce_tuner": f"""{TUNER}
number_of_generations = 2
samples_per_generation = 10
batch_size = 2
elite_proportion = 0.2
step_size = 0.5
""",
}
ANY_PARAMETER = {
    "mc_tuner": "split=2, scale=LINEAR(0.0, 1.0)",
    "ce_tuner": "initial_mean=0.0, initial_variance=1.0",
}


def literal_blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield the literal blocks of a reStructuredText page: line number, text."""
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        if not line.rstrip().endswith("::") or line.lstrip().startswith(".. "):
            continue
        block = []
        while place < len(lines) and (
            not lines[place].strip() or indent(lines[place]) > indent(line)
        ):
            block.append(lines[place])
            place += 1
        yield place - len(block) + 1, textwrap.dedent("\n".join(block)).strip("\n") + "\n"


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def examples() -> Iterator[tuple[str, str]]:
    """Yield (name, control file): whole ones as they are, fragments with what
    they need around them."""
    for page in sorted(Path(PLACE, "docs").glob("*.rst")):
        for line, block in literal_blocks(page.read_text(encoding="utf-8")):
            name = f"{page.stem}-{line}"
            if block.startswith("competition_type"):
                yield name, block
            else:
                for number, fragment in enumerate(fragments(page.stem, block), start=1):
                    yield f"{name}-{number}", fragment


def fragments(page: str, block: str) -> Iterator[str]:
    """Yield a control file for each piece of one in a literal block."""
    # an ellipsis stands for a number
    block = block.replace("…", "1.0")
    try:
        statements = ast.parse(block).body
    except SyntaxError:
        return
    type_name = TYPE_OF_PAGE.get(page, "playoff")
    head = f"competition_type = {type_name!r}\nimport math\n{SURROUNDINGS[type_name]}"
    functions = [s for s in statements if isinstance(s, ast.FunctionDef)]
    helpers = "\n".join(source(block, f) + "\n" for f in functions if f.name != "make_candidate")
    for statement in statements:
        text = source(block, statement)
        kind = kind_of(statement)
        if kind == "make_candidate":
            any_two = ", ".join(f'Parameter("{c}", {ANY_PARAMETER[type_name]})' for c in "xy")
            yield f"{head}parameters = [{any_two}]\n{text}\n"
        elif kind == "Parameter":
            candidate = 'def make_candidate(value):\n    return Player(["engine", str(value)])\n'
            yield f"{head}{helpers}{candidate}parameters = [{text}]\n"
        elif kind == "Player":
            yield f"{head}players = {{'a': {text}}}\nmatchups = [Matchup('a', 'a')]\n"
        elif kind == "Matchup":
            assert isinstance(statement, ast.Expr)
            assert isinstance(statement.value, ast.Call)
            codes = [ast.literal_eval(argument) for argument in statement.value.args]
            players = "".join(f"players[{code!r}] = Player('engine')\n" for code in codes)
            yield f"{head}players = {{}}\n{players}matchups = [{text}]\n"
        elif kind == "players":
            yield f"{head}{helpers}{text}\nmatchups = [Matchup(*list(players)[:2])]\n"


def source(block: str, node: ast.AST) -> str:
    text = ast.get_source_segment(block, node)
    assert text is not None
    return text


def kind_of(statement: ast.stmt) -> str:
    """Return what a statement calls, defines or assigns to, "" for other ones."""
    if isinstance(statement, ast.FunctionDef):
        return statement.name
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return getattr(statement.value.func, "id", "")
    return ""


EXAMPLES = dict(examples()) if PLACE else {}


def test_gomills_documentation_has_an_example_of_each_of_its_competition_types() -> None:
    if not PLACE:
        reason = "RINGMASTER_GOMILL does not name the unpacked source of gomill 0.8.3"
        if os.environ.get("RINGMASTER_REQUIRE_ENGINES"):
            pytest.fail(reason)
        pytest.skip(reason)
    whole = [text for text in EXAMPLES.values() if "import math" not in text]
    types = {ast.literal_eval(text.split("\n")[0].partition("=")[2].strip()) for text in whole}
    assert len(whole) == 6
    assert types == {"playoff", "allplayall", "mc_tuner", "ce_tuner"}
    assert types <= set(type_names())
    assert len(EXAMPLES) - len(whole) == 24


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_of_gomills_documentation_loads_unchanged(name: str, tmp_path: Path) -> None:
    control = tmp_path / "example.ctl"
    control.write_text(EXAMPLES[name], encoding="utf-8")
    loaded = LoadedCompetition(control)
    loaded.prepare()
    # Gomill's default
    assert [line for line in loaded.warnings() if "no number_of_games" not in line] == []
    assert loaded.settings
    assert loaded.competition.setup().checks
    job = loaded.competition.next_job()
    assert job is not None
    assert job.settings.game == "go"
