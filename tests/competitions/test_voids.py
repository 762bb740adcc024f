"""Void games by player and kind, in every competition type."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ringmaster.competitions.tally import Tally
from ringmaster.competitions.voids import added, by_player, void_line
from ringmaster.model.results import EvaluationResult, GameResult
from ringmaster.reporting.tables import render_report
from tests.competitions.settings_of import AGAINST_OPPONENT, again, call, make, uci, void


def test_player_with_most_void_games_comes_first_and_kinds_are_words() -> None:
    kinds = {"a": {"crash": 1}, "b": {"hang": 1, "crash": 3, "time": 2}, "": {"setup": 1}}
    assert by_player(kinds, 8) == (
        "b: 3 crashes, 2 time, 1 hang; no player at fault: 1 failed setup; a: 1 crash"
    )
    assert void_line({"b": {"crash": 3}}, 3) == "void games (not counted): 3 (b: 3 crashes)"


def test_void_games_of_an_earlier_version_are_counted_without_a_player() -> None:
    # a tally as it was stored before void games were counted by player
    tally = msgspec.convert({"players": ["a", "b"], "void": 2, "void_in_a_row": 0}, Tally)
    tally.take(GameResult("0_0", 0, "void", reason="crash", faulty=0), 1, None)
    assert by_player(tally.void_kinds, tally.void) == (
        "b: 1 crash; 2 of an earlier version, not counted by player"
    )


def test_counts_are_added_without_changing_the_summands() -> None:
    one, other = {"a": {"crash": 1}}, {"a": {"crash": 2, "hang": 1}}
    assert added([one, other]) == {"a": {"crash": 3, "hang": 1}}
    assert one == {"a": {"crash": 1}}


def tournament(type_name: str, **settings: Any) -> Any:
    return make(type_name, game="chess", players={c: uci() for c in "abc"}, **settings)


TUNE = {
    "game": "chess",
    "players": {"duel": uci()},
    "player": "duel",
    "parameters": [call("Parameter", "p", start=5, min=0, max=10)],
    "number_of_games": 100,
}
CANDIDATES = {
    "mc_tuner": {
        "parameters": [call("Parameter", "p", scale=call("LINEAR", 0, 1), split=2)],
        "exploration_coefficient": 0.5,
        "initial_visits": 1,
        "initial_wins": 1,
    },
    "ce_tuner": {
        "parameters": [call("Parameter", "p", initial_mean=0, initial_variance=1)],
        "number_of_generations": 2,
        "samples_per_generation": 4,
        "batch_size": 2,
        "elite_proportion": 0.5,
        "step_size": 0.8,
    },
}
TOURNAMENTS = {
    "playoff": {"matchups": [call("Matchup", "a", "b")]},
    "allplayall": {"competitors": ["a", "b"]},
    "gauntlet": {"challengers": ["a"], "opponents": ["b"]},
    "swiss": {"competitors": ["a", "b"], "rounds": 1},
}


@pytest.mark.parametrize(
    ("competition", "code"),
    [
        *((tournament(name, **settings), "b") for name, settings in TOURNAMENTS.items()),
        *((make(name, **AGAINST_OPPONENT, **more), "opp") for name, more in CANDIDATES.items()),
        (make("spsa", **TUNE), "duel"),
    ],
    ids=[*TOURNAMENTS, *CANDIDATES, "spsa"],
)
def test_report_says_whose_void_games_there_were_and_of_which_kind(
    competition: Any, code: str
) -> None:
    job = competition.next_job()
    codes = [player.code for player in job.players]
    faulty = codes.index(code) if code in codes else 0
    result = GameResult(job.id, 0, "void", reason="crash", detail="it exited", faulty=faulty)
    for attempt in range(3):
        competition.take(job.ticket, msgspec.structs.replace(result, attempt=attempt))
    assert competition.void_kinds() == {code: {"crash": 3}}
    assert f"3 ({code}: 3 crashes)" in render_report(competition.report())
    state = msgspec.json.decode(msgspec.json.encode(competition.state()))
    competition.restore(state)
    assert competition.void_kinds() == {code: {"crash": 3}}


def test_matchup_data_has_void_games_by_player_and_kind() -> None:
    playoff = tournament("playoff", **TOURNAMENTS["playoff"])
    job = playoff.next_job()
    playoff.take(job.ticket, void(job, "b"))
    (matchup,) = playoff.summary()["matchups"]
    assert (matchup["void"], matchup["void_by_kind"]) == (1, {"b": {"crash": 1}})
    later = again(playoff, tournament("playoff", **TOURNAMENTS["playoff"]))
    assert later.void_kinds() == {"b": {"crash": 1}}


def test_evaluation_that_is_void_counts_for_its_engine() -> None:
    from ringmaster.competitions.voids import count_void

    kinds: dict[str, dict[str, int]] = {}
    count_void(kinds, EvaluationResult("p0_0000", 0, "void", reason="hang"), ["duel"])
    assert kinds == {"duel": {"hang": 1}}
