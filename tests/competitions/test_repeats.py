"""Games that repeat: warned of before a run, counted after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringmaster.reporting.tables import render_report
from tests.competitions.settings_of import (
    AGAINST_OPPONENT,
    again,
    call,
    candidate_result,
    make,
    uci,
    won,
)

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
    return "\n".join(competition.warnings())


def match(book: Any, games: int | None, a: Any = None, b: Any = None, **settings: Any) -> Any:
    return make(
        "playoff",
        game="chess",
        players={"a": a or uci(), "b": b or uci()},
        matchups=[call("Matchup", "a", "b", number_of_games=games, **settings)],
        openings=book,
    )


def test_more_games_than_twice_the_openings_are_warned_of(book: Any) -> None:
    assert f"{THREE}, and 7 may be played" in warned(match(book, 7))
    assert f"{THREE}, and no number of games is set" in warned(match(book, None))
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
def test_players_that_leave_something_to_chance_are_not_warned_of(book: Any, settings: Any) -> None:
    assert warned(match(book, 50, b=uci(**settings))) == ""


@pytest.mark.parametrize(
    "options", [{"Threads": 1}, {"OwnBook": False}, {"UCI_LimitStrength": "false"}, {"Hash": 64}]
)
def test_options_that_leave_nothing_to_chance_are_warned_of(book: Any, options: Any) -> None:
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
    """Play games that a wins, all but the first few of which repeat."""
    for number in range(games):
        job = competition.next_job()
        result = won(job, "a")
        competition.take(job.ticket, msgspec.structs.replace(result, repeats=number >= distinct))


def test_report_and_data_count_games_that_repeat(book: Any) -> None:
    playoff = match(book, 40)
    play(playoff, 10, distinct=6)
    playoff = again(playoff, match(book, 40))
    text = render_report(playoff.report())
    assert "games that repeat an earlier one, move for move: 4 (6 distinct games)\n" in text
    assert playoff.summary()["matchups"][0]["repeats"] == 4
    # as the other player sees it
    turned = make(
        "playoff",
        game="chess",
        players={"a": uci(), "b": uci()},
        matchups=[call("Matchup", "b", "a", number_of_games=40)],
    )
    assert "move for move: 4 (6 distinct games)" in render_report(again(playoff, turned).report())


def test_verdict_of_a_test_says_that_its_games_repeat(book: Any) -> None:
    playoff = match(book, None, sprt=call("SPRT", 0, 200))
    games = 0
    while (job := playoff.next_job()) is not None:
        result = msgspec.structs.replace(won(job, "a"), repeats=games >= 6)
        notes = playoff.take(job.ticket, result).notes
        games += 1
    said = f"{games - 6} of {games} games repeat an earlier one, move for move: the SPRT takes 6 "
    assert any(said in note for note in notes), "the line of the history"
    text = render_report(playoff.report())
    assert text.index("H1 accepted") < text.index(f"warning: {said}") < text.index("points")
    assert said in playoff.summary()["matchups"][0]["sprt"]["warning"]


def test_few_repeats_are_counted_and_are_no_reason_to_doubt_a_test(book: Any) -> None:
    playoff = match(book, 200, sprt=call("SPRT", 0, 5))
    for number in range(100):
        job = playoff.next_job()
        result = msgspec.structs.replace(won(job, "ab"[number // 2 % 2]), repeats=number == 50)
        playoff.take(job.ticket, result)
    text = render_report(playoff.report())
    assert "move for move: 1 (99 distinct games)" in text
    assert "warning" not in text


def test_tunes_count_games_that_repeat() -> None:
    mc = {
        **AGAINST_OPPONENT,
        "parameters": [call("Parameter", "x", split=2, scale=call("LINEAR", 1, 9))],
        "exploration_coefficient": 0.4,
        "initial_visits": 2,
        "initial_wins": 1,
        "number_of_games": 9,
    }
    ce = {
        **AGAINST_OPPONENT,
        "parameters": [call("Parameter", "x", initial_mean=1, initial_variance=1)],
        "number_of_generations": 2,
        "samples_per_generation": 4,
        "batch_size": 10,
        "elite_proportion": 0.5,
        "step_size": 0.5,
    }
    for kind, settings in (("mc_tuner", mc), ("ce_tuner", ce)):
        tune = make(kind, **settings)
        for number in range(5):
            job = tune.next_job()
            result = msgspec.structs.replace(candidate_result(job, True), repeats=number > 2)
            tune.take(job.ticket, result)
        tune = again(tune, make(kind, **settings))
        assert tune.summary()["repeats"] == 2
        text = render_report(tune.report())
        assert "games that repeat an earlier one, move for move: 2 (3 distinct games)\n" in text
