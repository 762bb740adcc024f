"""Limits and options of all players: at the top level, in Matchup(…), in Player(…)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ringmaster.competitions.tournaments.tournament import Tournament
from ringmaster.errors import ControlFileError
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.players import Player, describe_limits
from tests.competitions.settings_of import Refused, call, make


def playoff(*matchups: Any, players: dict[str, Any], **settings: Any) -> Tournament:
    matchups = matchups or (call("Matchup", "a", "b"),)
    values = {"game": "chess", "number_of_games": 10, **settings}
    competition: Tournament = make("playoff", players=players, matchups=list(matchups), **values)
    return competition


def engine(**settings: Any) -> Any:
    return call("Player", "engine", **settings)


def limits(competition: Tournament, id: str = "0") -> list[str]:
    return [describe_limits(player) for player in competition.matchups[id].players]


def test_limits_of_the_top_level_are_those_of_players_without_limits() -> None:
    players = {"a": engine(), "b": engine(nodes=500)}
    assert limits(playoff(players=players, nodes=100)) == ["nodes 100", "nodes 500"]


def test_player_with_a_limit_takes_no_other_limit_from_the_top_level() -> None:
    players = {"a": engine(nodes=500), "b": engine(nodes=500, time_control="9+1")}
    competition = playoff(players=players, time_control="10+0.1", depth=3)
    assert limits(competition) == ["nodes 500", "9+1, nodes 500"]


def test_player_or_matchup_switches_off_a_limit_of_the_top_level_with_none() -> None:
    players = {"a": engine(depth=None), "b": engine()}
    settings = {"time_control": "10+0.1", "depth": 3, "nodes": 9}
    matchups = call("Matchup", "a", "b"), call("Matchup", "a", "b", nodes=None)
    competition = playoff(*matchups, players=players, **settings)
    assert limits(competition, "0") == ["10+0.1, nodes 9", "10+0.1, nodes 9, depth 3"]
    assert limits(competition, "1") == ["10+0.1", "10+0.1, depth 3"]
    go = {"game": "go", "board_size": 9, "komi": 7.5, "time_control": "600+30byo"}
    players = {"a": engine(time_control=None), "b": engine()}
    assert limits(playoff(players=players, **go)) == ["", "600+30byo"]


def test_player_that_switches_off_its_only_limit_is_refused() -> None:
    with pytest.raises(Refused, match="nothing limits the moves of player 'a'"):
        playoff(players={"a": engine(nodes=None), "b": engine()}, nodes=5)


def test_limits_of_a_matchup_replace_all_limits_of_the_top_level() -> None:
    players = {"a": engine(), "b": engine(depth=7)}
    matchups = call("Matchup", "a", "b"), call("Matchup", "a", "b", nodes=20)
    competition = playoff(*matchups, players=players, time_control="10+0.1")
    assert limits(competition, "0") == ["10+0.1", "depth 7"]
    assert limits(competition, "1") == ["nodes 20", "depth 7"]


def test_player_leaves_out_an_option_of_all_players_with_none() -> None:
    players = {"a": engine(nodes=1, options={"threads": None}), "b": engine(nodes=1)}
    competition = playoff(call("Matchup", "a", "b"), players=players, options={"Threads": 1})
    a, b = competition.next_job().players
    assert (a.options, b.options) == ({}, {"Threads": 1})


def test_options_of_all_levels_are_added_by_name_and_the_innermost_value_wins() -> None:
    players = {"a": engine(nodes=1, options={"hash": 64}), "b": engine(nodes=1)}
    matchup = call("Matchup", "a", "b", options={"Threads": 2, "Ponder": False})
    competition = playoff(matchup, players=players, options={"Threads": 1, "Hash": 16})
    a, b = competition.matchups["0"].players
    assert a.options == {"Threads": 2, "Ponder": False, "hash": 64}
    assert b.options == {"Hash": 16, "Threads": 2, "Ponder": False}


def test_each_set_of_limits_of_a_player_is_checked_and_reported() -> None:
    players = {"a": engine(), "b": engine(), "c": engine()}
    matchups = [
        call("Matchup", "a", "b"),
        call("Matchup", "a", "c", id="deep", nodes=9000),
        call("Matchup", "b", "c"),
    ]
    competition = playoff(*matchups, players=players, nodes=100)
    checks = {job.id: describe_limits(job.player) for job in competition.setup().checks}
    assert checks == {
        "check-a": "nodes 100",
        "check-b": "nodes 100",
        "check-a-deep": "nodes 9000",
        "check-c": "nodes 9000",
        "check-c-2": "nodes 100",
    }
    reported = [
        (each.player.code, describe_limits(each.player), [*each.matchups])
        for each in competition.summary().contestants
    ]
    assert reported == [
        ("a", "nodes 100", ["0"]),
        ("a", "nodes 9000", ["deep"]),
        ("b", "nodes 100", []),
        ("c", "nodes 9000", ["deep"]),
        ("c", "nodes 100", ["2"]),
    ]


def test_player_without_any_limit_is_refused_with_both_places_for_one() -> None:
    with pytest.raises(Refused, match=r"players.a: nothing limits the moves of player 'a'"):
        playoff(players={"a": engine(), "b": engine()})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"nodes": 5}, "nodes: nodes has no meaning over GTP"),
        ({"options": {"Hash": 1}}, "options: GTP has no options"),
        ({"time_control": "5/10"}, "time_control: GTP has no time control such as 5/10"),
    ],
)
def test_limits_that_the_game_lacks_are_errors_at_their_own_place(
    settings: dict[str, Any], message: str
) -> None:
    players = {"a": engine(), "b": engine()}
    go = {"game": "go", "board_size": 9, "komi": 7.5}
    with pytest.raises(Refused, match=f"^{message}"):
        playoff(players=players, **go, **settings)
    with pytest.raises(Refused, match=f"^matchups.0.{message}"):
        playoff(call("Matchup", "a", "b", **settings), players=players, **go)


TUNE: dict[str, Any] = {
    "game": "chess",
    "nodes": 70,
    "options": {"Hash": 8},
    "players": {"e": call("Player", "engine"), "o": call("Player", "other")},
}
PARAMETER = {"min": 0, "max": 10, "start": 5}


def checked(competition: Any) -> dict[str, Player]:
    return {job.player.code: job.player for job in competition.setup().checks}


@pytest.mark.parametrize(
    ("type_name", "settings"),
    [
        (
            "spsa",
            {
                "number_of_games": 4,
                "pairing": "reference",
                "parameters": [call("Parameter", "A", **PARAMETER)],
            },
        ),
        (
            "clop_tuner",
            {
                "number_of_games": 4,
                "candidate_colour": "alternating",
                "parameters": [call("Parameter", "A", **PARAMETER)],
            },
        ),
        (
            "optuna_tuner",
            {"number_of_trials": 2, "parameters": [call("Parameter", "A", **PARAMETER)]},
        ),
        (
            "mc_tuner",
            {
                "number_of_games": 4,
                "candidate_colour": "w",
                "exploration_coefficient": 0.2,
                "initial_visits": 10,
                "initial_wins": 5,
                "parameters": [
                    call("Parameter", "A", scale=call("LINEAR", 0, 9), split=10, format="%d")
                ],
            },
        ),
    ],
)
@pytest.mark.parametrize("made", [False, True])
def test_candidates_and_opponents_of_tunes_get_limits_and_options_of_all_players(
    type_name: str, settings: dict[str, Any], made: bool
) -> None:
    own: dict[str, Any] = {"player": "e"}
    if made:
        function = {"make_candidate": lambda A: call("Player", f"engine {A}")}
        own = {**function, **({"player": "e"} if type_name in ("spsa", "optuna_tuner") else {})}
    players = checked(make(type_name, opponent="o", **own, **settings, **TUNE))
    assert len(players) > 1
    for player in players.values():
        assert (player.nodes, player.options["Hash"]) == (70, 8)


FILE = """competition_type = "playoff"
game = "chess"
number_of_games = 2
players = {"a": Player("a", nodes=1), "b": Player("b", nodes=1)}
matchups = [Matchup("a", "b")]
"""


def loaded(folder: Path, text: str) -> LoadedCompetition:
    control = folder / "x.ctl"
    control.write_text(text)
    return LoadedCompetition(control)


@pytest.mark.parametrize(
    "line",
    [
        'options = ["--deep"]\nprint(options, end="")',
        "for options in ({'Hash': 1}, {'Hash': 2}): pass",
    ],
)
def test_variable_of_the_file_itself_is_no_setting(tmp_path: Path, line: str) -> None:
    competition = loaded(tmp_path, FILE + line + "\n")
    assert competition.control_file.values["options"] is None
    assert not competition.control_file.warnings


def test_variables_of_gomills_files_are_no_limits_of_visits_or_playouts(tmp_path: Path) -> None:
    text = """competition_type = "playoff"
number_of_games, board_size, komi = 2, 9, 7.5
playouts = 1000
visits = 800
players = {"a": Player(f"fuego --playouts {playouts}"), "b": Player("katago")}
matchups = [Matchup("a", "b")]
"""
    values = loaded(tmp_path, text).control_file.values
    assert (values["playouts"], values["visits"]) == (None, 800)
    competition = loaded(
        tmp_path, text.replace("playouts = 1000", "playouts = 5") + "print(visits)"
    )
    assert {describe_limits(each.player) for each in competition.competition.setup().checks} == {""}


def test_visits_of_all_players_are_a_limit_as_others_are() -> None:
    go = {"game": "go", "board_size": 9, "komi": 7.5, "visits": 800, "playouts": 9}
    players = {"a": engine(), "b": engine(visits=None), "c": engine(visits=5)}
    matchups = call("Matchup", "a", "b"), call("Matchup", "a", "c", time_control="600")
    competition = playoff(*matchups, players=players, **go)
    assert limits(competition, "0") == ["visits 800, playouts 9", "playouts 9"]
    assert limits(competition, "1") == ["600", "visits 5"]


def test_value_of_a_wrong_type_that_nothing_uses_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ControlFileError, match=r"x.ctl:6:12: .*options"):
        loaded(tmp_path, FILE + 'options = ["--deep"]\n')


def test_limit_that_a_player_switches_off_is_a_change_between_runs(tmp_path: Path) -> None:
    from ringmaster.control.changes import find_changes

    general = "time_control = '9+1'\nnodes = 5\n"
    before = loaded(tmp_path, FILE.replace(", nodes=1", "") + general)
    now = loaded(
        tmp_path,
        FILE.replace('("b", nodes=1)', '("b", nodes=None)').replace(", nodes=1", "") + general,
    )
    where = now.control_file.path_text
    (change,) = find_changes(now.competition.table, before.settings, now.settings, where)
    assert change.allowed
    assert str(change) == "players['b'].switched_off is new: ['nodes']"


def test_variables_of_gomills_files_are_no_rules_and_no_resources(tmp_path: Path) -> None:
    (tmp_path / "event.ctl").write_text("""
competition_type = "playoff"
rules = "--chinese-rules"
resources = ["-x", "-y"]
players = {"a": Player(f"gnugo {rules}"), "b": Player(["gnugo", *resources])}
matchups = [Matchup("a", "b")]
board_size = 9
komi = 7.5
number_of_games = 1
""")
    values = LoadedCompetition(tmp_path / "event.ctl").control_file.values
    assert (values["rules"], values["resources"]) == (None, {})
