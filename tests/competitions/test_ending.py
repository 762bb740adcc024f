"""Games without end must be written down, except in Go."""

from __future__ import annotations

from typing import Any

import pytest

from ringmaster.model.canonical import canonical
from tests.competitions.settings_of import AGAINST_OPPONENT, Refused, call, make, uci

PLAYERS = {"a": uci(), "b": uci()}
PLAYOFF: dict[str, Any] = {"players": PLAYERS, "matchups": [call("Matchup", "a", "b")]}
TUNE: dict[str, Any] = {
    "players": PLAYERS,
    "player": "a",
    "opponent": "b",
    "candidate_colour": "alternating",
}
MC = {
    **TUNE,
    "parameters": [call("Parameter", "A", scale=call("LINEAR", 0, 9), split=10)],
    "exploration_coefficient": 0.2,
    "initial_visits": 10,
    "initial_wins": 5,
}
CLOP = {**TUNE, "parameters": [call("Parameter", "A", 0, 9, integer=True)]}
GO = {"board_size": 9, "komi": 7.5, "players": {c: call("Player", c) for c in "ab"}}


@pytest.mark.parametrize("game", ["chess", "shogi"])
@pytest.mark.parametrize(
    ("type_name", "settings", "name"),
    [
        ("playoff", PLAYOFF, "matchups.0.number_of_games"),
        ("allplayall", {"players": PLAYERS, "competitors": ["a", "b"]}, "rounds"),
        ("gauntlet", {"players": PLAYERS, "challengers": "a", "opponents": "b"}, "rounds"),
        ("mc_tuner", MC, "number_of_games"),
        ("clop_tuner", CLOP, "number_of_games"),
    ],
)
def test_games_of_chess_and_shogi_without_end_must_be_written_down(
    game: str, type_name: str, settings: dict[str, Any], name: str
) -> None:
    short = name.rpartition(".")[2]
    settings = {k: [v] if k in ("challengers", "opponents") else v for k, v in settings.items()}
    with pytest.raises(Refused) as refused:
        make(type_name, endless=False, game=game, **settings)
    assert str(refused.value).startswith(f"{name}: {short!r} is missing: nothing ends the games; ")
    assert f"{short} = None for games without end" in str(refused.value)
    competition = make(type_name, endless=False, game=game, **settings, **{short: None})
    assert competition.summary().progress.total is None
    assert not any("until you stop" in line for line in competition.summary().warnings)


def test_refusal_names_an_sprt_as_another_remedy() -> None:
    with pytest.raises(Refused, match=r"number_of_games = 1000, an sprt = SPRT\(…\), or"):
        make("playoff", endless=False, game="chess", **PLAYOFF)


def test_sprt_alone_ends_a_matchup() -> None:
    sprt = call("SPRT", elo0=0, elo1=5)
    make("playoff", endless=False, game="chess", sprt=sprt, **PLAYOFF)
    matchups = [call("Matchup", "a", "b", sprt=sprt), call("Matchup", "a", "b")]
    with pytest.raises(Refused, match=r"^matchups.1.number_of_games: "):
        make("playoff", endless=False, game="chess", **{**PLAYOFF, "matchups": matchups})


@pytest.mark.parametrize(
    ("type_name", "settings", "name"),
    [
        ("playoff", {"matchups": [call("Matchup", "a", "b")]}, "number_of_games"),
        ("allplayall", {"competitors": ["a", "b"]}, "rounds"),
    ],
)
def test_games_of_go_without_end_are_warned_of_unless_it_is_written_down(
    type_name: str, settings: dict[str, Any], name: str
) -> None:
    line = f"no {name}: the games go on until you stop the run; write {name} = None to say so"
    assert line in make(type_name, endless=False, **GO, **settings).summary().warnings
    assert (
        line
        not in make(type_name, endless=False, **GO, **settings, **{name: None}).summary().warnings
    )


def test_only_the_matchups_without_end_are_named() -> None:
    matchups = [call("Matchup", "a", "b", number_of_games=2), call("Matchup", "a", "b")]
    (line,) = make("playoff", endless=False, **GO, matchups=matchups).summary().warnings
    assert line.startswith("matchups 1: no number_of_games")


def test_tune_of_go_without_end_is_warned_of() -> None:
    parameters = [call("Parameter", "A", scale=call("LINEAR", 0, 9), split=10)]
    settings = {**MC, **AGAINST_OPPONENT, "player": None, "parameters": parameters}
    tune = make("mc_tuner", endless=False, **settings)
    assert any(line.startswith("no number_of_games: ") for line in tune.summary().warnings)


def test_number_that_is_not_given_is_stored_like_none() -> None:
    from ringmaster.competitions.setting_types import NOT_GIVEN

    assert canonical({"number_of_games": NOT_GIVEN}) == {"number_of_games": None}
