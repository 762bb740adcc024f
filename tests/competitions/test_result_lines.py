"""Void and repeated games in every competition type: warnings, counts, reports."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringmaster.competitions.result_lines import void_by_player, void_line
from ringmaster.competitions.tally import LATEST, fault_rule
from ringmaster.model.results import EvaluationResult, GameResult
from tests.competitions.settings_of import (
    AGAINST_OPPONENT,
    again,
    call,
    make,
    uci,
    void,
    won,
)


def test_player_with_most_void_games_comes_first_and_kinds_are_words() -> None:
    kinds = {"a": {"crash": 1}, "b": {"hang": 1, "crash": 3, "time": 2}, "": {"setup": 1}}
    assert void_by_player(kinds) == (
        "b: 3 crashes, 2 time, 1 hang; no player at fault: 1 failed setup; a: 1 crash"
    )
    assert void_line({"b": {"crash": 3}}) == "void games (not counted): 3 (b: 3 crashes)"


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
def test_report_counts_void_games_by_player_and_kind(competition: Any, code: str) -> None:
    job = competition.next_job()
    codes = [player.code for player in job.players]
    faulty = codes.index(code) if code in codes else 0
    result = GameResult(job.id, 0, "void", reason="crash", detail="it exited", faulty=faulty)
    for attempt in range(3):
        competition.record_result(job.ticket, msgspec.structs.replace(result, attempt=attempt))
    assert competition.summary().void_kinds == {code: {"crash": 3}}
    state = msgspec.json.decode(msgspec.json.encode(competition.state()))
    competition.restore(state)
    assert competition.summary().void_kinds == {code: {"crash": 3}}


def test_matchup_data_has_void_games_by_player_and_kind() -> None:
    playoff = tournament("playoff", **TOURNAMENTS["playoff"])
    job = playoff.next_job()
    playoff.record_result(job.ticket, void(job, "b"))
    (matchup,) = playoff.summary().data()["matchups"]
    assert (matchup["void"], matchup["void_by_kind"]) == (1, {"b": {"crash": 1}})
    later = again(playoff, tournament("playoff", **TOURNAMENTS["playoff"]))
    assert later.summary().void_kinds == {"b": {"crash": 1}}


def test_evaluation_that_is_void_counts_for_its_engine() -> None:
    from ringmaster.competitions.result_lines import count_void

    kinds: dict[str, dict[str, int]] = {}
    count_void(kinds, EvaluationResult("p0_0000", 0, "void", reason="hang"), ["duel"])
    assert kinds == {"duel": {"hang": 1}}


FENS = """rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1
rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq - 0 1
rnbqkbnr/pppppppp/8/8/2P5/8/PP1PPPPP/RNBQKBNR b KQkq - 0 1
"""
THREE = "3 openings with both colours make 6 different games"


@pytest.fixture
def book(tmp_path: Path) -> Any:
    (tmp_path / "book.epd").write_text(FENS)
    return call("Openings", str(tmp_path / "book.epd"))


def warned(competition: Any) -> str:
    competition.prepare()
    return "\n".join(competition.summary().warnings)


def match(book: Any, games: int | None, a: Any = None, b: Any = None, **settings: Any) -> Any:
    return make(
        "playoff",
        game="chess",
        players={"a": a or uci(), "b": b or uci()},
        matchups=[call("Matchup", "a", "b", number_of_games=games, **settings)],
        openings=book,
    )


def test_more_games_than_twice_the_openings_have_a_warning(book: Any) -> None:
    assert f"{THREE}, and 7 may be played" in warned(match(book, 7))
    assert f"{THREE}, and no number of games is set" in warned(match(book, None))
    assert f"{THREE}, and 1,200 may be played" in warned(match(book, 1200))
    assert warned(match(book, 6)) == ""


def test_fixed_colours_give_a_game_an_opening(book: Any) -> None:
    assert "3 openings with fixed colours make 3 different games" in warned(
        match(book, 4, alternating=False)
    )
    assert warned(match(book, 3, alternating=False)) == ""


@pytest.mark.parametrize(
    "settings",
    [
        {"nodes": None, "time_control": "1+0.1"},
        {"move_time": 0.1},
        {"options": {"Threads": 2}},
        {"options": {"UCI_LimitStrength": True}},
        {"options": {"Skill Level": 3}},
        {"options": {"OwnBook": "true"}},
        {"ponder": True},
    ],
)
def test_random_players_have_no_warning(book: Any, settings: Any) -> None:
    assert warned(match(book, 50, b=uci(**settings))) == ""


@pytest.mark.parametrize(
    "options", [{"Threads": 1}, {"OwnBook": False}, {"UCI_LimitStrength": "false"}, {"Hash": 64}]
)
def test_deterministic_options_have_a_warning(book: Any, options: Any) -> None:
    assert THREE in warned(match(book, 50, b=uci(options=options, depth=3)))


def test_every_type_warns_of_games_that_will_repeat(book: Any) -> None:
    chess = {"game": "chess", "openings": book, "players": {code: uci() for code in "abc"}}
    tournaments = [
        make("allplayall", competitors=["a", "b", "c"], rounds=8, **chess),
        make("gauntlet", challengers=["a"], opponents=["b", "c"], rounds=8, **chess),
        make("swiss", competitors=["a", "b", "c"], rounds=2, games_per_pairing=8, **chess),
    ]
    for tournament in tournaments:
        assert THREE in warned(tournament), tournament.type_name
    tune = {
        **chess,
        "opponent": "a",
        "player": "b",
        "candidate_colour": "alternating",
    }
    mc = make(
        "mc_tuner",
        parameters=[call("Parameter", "x", split=2, scale=call("LINEAR", 1, 9))],
        exploration_coefficient=0.4,
        initial_visits=2,
        initial_wins=1,
        number_of_games=100,
        **tune,
    )
    ce = make(
        "ce_tuner",
        parameters=[call("Parameter", "x", initial_mean=1, initial_variance=1)],
        number_of_generations=2,
        samples_per_generation=4,
        batch_size=10,
        elite_proportion=0.5,
        step_size=0.5,
        **tune,
    )
    spsa = make(
        "spsa",
        parameters=[call("Parameter", "x", start=3, min=1, max=9, integer=True)],
        player="a",
        number_of_games=4,
        verify=call("Verify", 8),
        **chess,
    )
    assert f"{THREE} of a candidate, and 100 may be played" in warned(mc)
    assert f"{THREE} of a candidate, and 10 may be played" in warned(ce)
    assert f"{THREE} of the closing match, and 8 may be played" in warned(spsa)


def play(competition: Any, games: int, distinct: int) -> None:
    """Play wins of a; all games but the first `distinct` repeat."""
    for number in range(games):
        job = competition.next_job()
        result = won(job, "a")
        competition.record_result(
            job.ticket, msgspec.structs.replace(result, repeats=number >= distinct)
        )


def test_report_and_data_count_games_that_repeat(book: Any) -> None:
    playoff = match(book, 40)
    play(playoff, 10, distinct=6)
    playoff = again(playoff, match(book, 40))
    assert playoff.summary().data()["matchups"][0]["repeats"] == 4


def test_report_of_a_test_warns_of_repeated_games(book: Any) -> None:
    playoff = match(book, None, sprt=call("SPRT", 0, 200))
    games = 0
    while (job := playoff.next_job()) is not None:
        result = msgspec.structs.replace(won(job, "a"), repeats=games >= 6)
        notes = playoff.record_result(job.ticket, result).notes
        games += 1
    doubt = f"{games - 6} of {games} games repeat an earlier one, move for move"
    assert any(doubt in note for note in notes), "the line of the history"
    assert doubt in playoff.summary().verdict


def test_few_repeats_are_counted_and_are_no_reason_to_doubt_a_test(book: Any) -> None:
    playoff = match(book, 200, sprt=call("SPRT", 0, 5))
    for number in range(100):
        job = playoff.next_job()
        result = msgspec.structs.replace(won(job, "ab"[number // 2 % 2]), repeats=number == 50)
        playoff.record_result(job.ticket, result)
    (matchup,) = playoff.summary().data()["matchups"]
    assert matchup["repeats"] == 1
    assert matchup["doubts"] == []


def chance_to_end(rate: float, games: int, runs: int = 400) -> float:
    """Return the share of simulated runs that faults end within a number of games."""
    rng, ended = random.Random(1), 0
    for _ in range(runs):
        recent = ""
        for _ in range(games):
            recent = (recent + "01"[rng.random() < rate])[-LATEST:]
            if fault_rule(recent):
                ended += 1
                break
    return ended / runs


def test_faults_end_a_run_by_their_rate() -> None:
    assert chance_to_end(1 / 20, 1000) == 0
    assert chance_to_end(1 / 2, 100) > 0.9
    assert chance_to_end(0.9, 20) > 0.99
