"""Forms of settings that Gomill 0.8.3 takes beside the usual ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.cli import run as command
from ringmaster.control.source import ControlFileProblems
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.players import Player
from ringmaster.model.settings import Context, DictOf, Identifier, String
from tests.competitions.settings_of import call
from tests.competitions.settings_of import candidate_result as result
from tests.competitions.test_mc_tuner import parameter, text, tuner

PLAYOFF = """competition_type = "playoff"
players = PLAYERS
board_size = 9
komi = 7.5
matchups = [Matchup("a", "b", number_of_games=2)]
"""


def playoff(folder: Path, players: str) -> tuple[Player, ...]:
    """Return the players of a control file's first game."""
    control = folder / "event.ctl"
    control.write_text(PLAYOFF.replace("PLAYERS", players))
    job: Any = LoadedCompetition(control).competition.next_job()
    return tuple(job.players)


def test_players_environ_and_aliases_may_be_pairs(tmp_path: Path) -> None:
    first, second = playoff(
        tmp_path,
        '[("a", Player("x", environ=[("A", "1"), ("B", "2")])),'
        ' ["b", Player("y", gtp_aliases=(["genmove", "think"],))]]',
    )
    assert first.environ == {"A": "1", "B": "2"}
    assert second.gtp_aliases == {"genmove": "think"}


@pytest.mark.parametrize(
    "players",
    ['zip("ab", [Player("x"), Player("y")])', '{"a": Player("x"), "b": Player("y")}.items()'],
)
def test_players_may_be_any_argument_of_dict(tmp_path: Path, players: str) -> None:
    assert [p.command for p in playoff(tmp_path, players)] == [("x",), ("y",)]


@pytest.mark.parametrize(
    ("players", "where"),
    [
        ('[("a", Player("x")), ("b", Player("y", cwdd=1))]', "2:50: error: players['b'].cwdd: "),
        ('[("a", Player("x")), ("b c", Player("y"))]', "2:33: error: players['b c']: "),
        (
            '[("a", Player("x")), 3]',
            "2:32: error: players[1]: 3 is not a pair of a key and a value",
        ),
        ('[("a", Player("x")), ("b",)]', "2:32: error: players[1]: ('b',) is not a pair"),
        ("3", "2:11: error: players: 3 is not a dictionary"),
        (
            '[("a", Player("x", environ=[("A", "1"), ("A", "2")]))]',
            "2:52: error: players['a'].environ['A']: the key 'A' is repeated",
        ),
    ],
)
def test_wrong_pair_is_refused_where_it_stands(tmp_path: Path, players: str, where: str) -> None:
    with pytest.raises(ControlFileProblems) as refused:
        playoff(tmp_path, players)
    assert str(refused.value).startswith(f"{tmp_path}/event.ctl:{where}")


def test_command_may_be_an_iterator_of_strings(tmp_path: Path) -> None:
    players = '{"a": Player(map(str, ["x", 1])), "b": Player(w for w in "yz")}'
    assert [p.command for p in playoff(tmp_path, players)] == [("x", "1"), ("y", "z")]


def test_player_with_an_iterator_may_stand_under_two_codes(tmp_path: Path) -> None:
    players = (
        '(lambda p: {"a": p, "b": p})(Player(map(str, "x"), startup_gtp_commands=map(str, "y")))'
    )
    first, second = playoff(tmp_path, players)
    assert (first.command, first.startup_gtp_commands) == (("x",), (("y",),))
    assert (second.command, second.startup_gtp_commands) == (("x",), (("y",),))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("map(str, __import__('itertools').count())", "it has items without end"),
        ("(1 / 0 for _ in 'x')", "its iteration raised ZeroDivisionError"),
        ("map(int, 'x')", "ValueError: invalid literal"),
        ("map(int, '1')", "is not a command"),
        ("'x', startup_gtp_commands=[(w for w in ('a\\n', 'b'))]", "must be on one line"),
    ],
)
def test_wrong_iterator_is_refused(tmp_path: Path, command: str, message: str) -> None:
    with pytest.raises(ControlFileProblems, match=message):
        playoff(tmp_path, f'{{"a": Player({command}), "b": Player("y")}}')


@pytest.mark.parametrize(
    ("colour", "seat"), [("black", 0), ("B", 0), ("White", 1), ("W", 1), ("white", 1)]
)
def test_colour_of_candidates_has_other_names(colour: str, seat: int) -> None:
    assert tuner(candidate_colour=colour).next_job().ticket["s"] == seat
    assert tuner(candidate_colour=colour).values["candidate_colour"] == "bw"[seat]


@pytest.mark.parametrize(
    ("template", "value", "shown"),
    [
        ("%d to %s", (1, "x"), "1 to x"),
        ("X: %d", (3,), "X: 3"),
        ("X: %s", (1, 2), "X: (1, 2)"),
        ("%(low)d-%(high)d", {"low": 1, "high": 2}, "1-2"),
        ("X: %s", {"low": 1}, "X: {'low': 1}"),
    ],
)
def test_format_may_have_a_conversion_for_each_item(template: str, value: Any, shown: str) -> None:
    scale = call("EXPLICIT", [value])
    tune = tuner(
        parameters=[parameter(scale=scale, split=1, format=template)],
        make_candidate=lambda x: call("Player", "engine"),
    )
    assert shown in text(tune)
    assert tune.prepare() == []


def test_summary_may_show_no_candidates() -> None:
    assert "most visited" in text(tuner())
    assert "most visited" not in text(tuner(summary_spec=[]))


def test_generations_have_no_limit_and_a_deep_tree_can_be_stored() -> None:
    tune = tuner(max_depth=10**6, parameters=[parameter(split=1)])
    for _ in range(400):
        job = tune.next_job()
        tune.record_result(job.ticket, result(job, True))
    stored = json.loads(json.dumps(tune.state()))
    fresh = tuner(max_depth=10**6, parameters=[parameter(split=1)])
    fresh.restore(stored)
    assert fresh.tree.node_count() == tune.tree.node_count() > 100
    assert fresh.prepare() == []


@pytest.mark.process
def test_run_of_no_games_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control = tmp_path / "event.ctl"
    players = '{"a": Player("x"), "b": Player("y")}'
    control.write_text(PLAYOFF.replace("PLAYERS", players) + "skip_player_checks = True\n")
    assert command([str(control), "run", "-g", "0"]) == 0
    assert "stopped after 0 games, the limit of --max-games (0/2 games" in capsys.readouterr().out
    assert command([str(control), "run", "-g", "-1"]) == 2


@given(st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=5), st.booleans())
def test_pairs_equal_their_dictionary(environ: dict[str, str], tuples: bool) -> None:
    def interpreted(value: Any) -> tuple[Any, list[str]]:
        context = Context(Path("/nowhere"))
        value_read = DictOf(Identifier(), String()).interpret(value, ("environ",), context)
        return value_read, [f"{problem.path}: {problem}" for problem in context.problems]

    pairs = [(k, v) if tuples else [k, v] for k, v in environ.items()]
    assert interpreted(pairs) == interpreted(environ)
    assert interpreted(environ.items()) == interpreted(environ)
