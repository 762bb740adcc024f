"""Closing matches: values, games, new matches, reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.errors import SettingError
from ringmaster.model.jobs import GameJob
from ringmaster.model.results import GameResult
from tests.competitions import test_spsa
from tests.competitions.settings_of import (
    Refused,
    again,
    call,
    drawn,
    uci,
    void_often,
    won,
)
from tests.competitions.test_interruptions import Play
from tests.competitions.test_spsa import options, outcome, parameter, play_out

TUNED, START = "e:tuned", "e:start"


def spsa(**settings: Any) -> Any:
    steep = [parameter(r_end=0.5), parameter("Space", integer=False, r_end=0.5)]
    return test_spsa.spsa(**{"method": "classic", "parameters": steep, **settings})


def verifying(games: int | None = None, **settings: Any) -> Any:
    """Return a tune that plays only its closing match."""
    tune = spsa(**settings)
    tune.verify(games)
    return tune


def tuned(**settings: Any) -> Any:
    """Return a complete tune before its closing match; θ⁺ won all games."""
    tune = spsa(number_of_games=4, **settings)
    for _ in range(4):
        job = tune.next_job()
        tune.record_result(job.ticket, won(job, "e+"))
    return tune


def play(tune: Any, most: int, result: Callable[[GameJob], GameResult]) -> list[GameJob]:
    """Play games one at a time, and return their jobs."""
    played: list[GameJob] = []
    while len(played) < most and (job := tune.next_job()) is not None:
        tune.record_result(job.ticket, result(job))
        played.append(job)
    return played


def tuned_wins(job: GameJob) -> GameResult:
    return won(job, TUNED)


def match_of(tune: Any, number: int = -1) -> Any:
    return tune.summary().data()["matchups"][number]


def book(path: Path, openings: int) -> str:
    lines = [f"4k3/8/8/8/8/8/8/4K2R w K - {i} 1" for i in range(openings)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


# values and games


def test_closing_match_is_tuned_against_start_on_fresh_openings(tmp_path: Path) -> None:
    openings = call("Openings", book(tmp_path / "book.epd", 4))
    tune = tuned(verify=call("Verify", games=4), openings=openings)
    tune.prepare()
    assert not tune.finished()
    job = tune.next_job()
    assert [p.code for p in job.players] == [TUNED, START]
    assert options(job)[1]["Mobility"] == 50
    assert options(job)[0]["Mobility"] == tune.estimated()["Mobility"] != 50
    assert job.opening.source == "book.epd:3"
    tune.record_result(job.ticket, won(job, TUNED))
    rest = play(tune, 9, tuned_wins)
    assert [j.opening.source for j in rest] == ["book.epd:3", "book.epd:4", "book.epd:4"]
    assert [j.players[0].code for j in rest] == [START, TUNED, START]
    assert tune.finished()
    assert tune.next_job() is None
    assert match_of(tune)["wins"] == [4, 0]


def test_closing_match_waits_for_the_last_iteration() -> None:
    tune = spsa(number_of_games=2, verify=call("Verify", games=2))
    jobs = [tune.next_job(), tune.next_job()]
    assert tune.next_job() is None
    tune.record_result(jobs[0].ticket, won(jobs[0], "e+"))
    assert tune.next_job() is None
    tune.record_result(jobs[1].ticket, won(jobs[1], "e+"))
    assert tune.next_job().ticket == {"kind": "closing", "v": 1, "g": 0}


def test_both_sides_have_the_limits_of_the_closing_match_and_no_others() -> None:
    tune = tuned(verify=call("Verify", games=2, time_control="10+0.1", depth=7))
    job = tune.next_job()
    for player in job.players:
        assert (str(player.time_control), player.depth) == ("10+0.1", 7)
        assert (player.nodes, player.move_time) == (None, None)
    # the startup checks include the limits of the closing match
    assert "10+0.1" in [str(job.player.time_control) for job in tune.setup().checks]


def test_opponent_may_be_a_player_as_the_control_file_has_it() -> None:
    players = {"e": uci(options={"Hash": 4}), "base": uci("other", options={"Hash": 8})}
    tune = tuned(players=players, verify=call("Verify", games=2, against="base", nodes=50))
    first, second = play(tune, 9, tuned_wins)
    assert [p.code for p in first.players] == [TUNED, "base"]
    assert [p.code for p in second.players] == ["base", TUNED]
    assert dict(first.players[1].options) == {"Hash": 8}
    assert first.players[1].nodes == 50
    assert first.parameters[1] == {}
    assert tune.describe(second.ticket).players == ("base", TUNED)
    assert match_of(tune)["players"] == [TUNED, "base"]
    assert "check-base" in [job.id for job in tune.setup().checks]


def test_test_ends_the_match_after_the_second_game_of_its_pair() -> None:
    verify = call("Verify", games=1000, sprt=call("SPRT", 0, 100))
    tune = tuned(verify=verify)
    played = len(play(tune, 1000, tuned_wins))
    assert played < 100
    assert played % 2 == 0
    assert tune.finished()
    found = match_of(tune)
    assert found["sprt"]["accepted"] == "H1"
    assert tune.summary().progress.completed == tune.summary().progress.total == 4 + played


def test_draws_alone_end_with_the_last_game_and_no_decision() -> None:
    tune = tuned(verify=call("Verify", games=6, sprt=call("SPRT", -3, 3)))
    assert len(play(tune, 99, drawn)) == 6
    assert tune.finished()
    assert match_of(tune)["sprt"]["accepted"] is None
    assert match_of(tune)["draws"] == 6


def test_void_games_of_a_match_are_replayed_until_too_many_end_the_run() -> None:
    tune = tuned(verify=call("Verify", games=4))
    first, second = tune.next_job(), tune.next_job()
    tune.record_result(first.ticket, won(first, TUNED))
    *reactions, last = void_often(tune, second, 11)
    assert all(reaction.replay and not reaction.halt for reaction in reactions)
    assert "11 of the last 20 games ended by faults" in last.halt
    assert not tune.finished()
    assert match_of(tune)["void"] == 11


def test_unchanged_start_values_are_not_verified() -> None:
    tune = spsa(number_of_games=2, verify=call("Verify", games=4), parameters=[parameter()])
    assert len(play(tune, 9, drawn)) == 2
    assert tune.estimated() == tune.start_values
    assert tune.finished()
    assert tune.summary().progress.completed == tune.summary().progress.total == 2
    assert any("nothing to verify" in line for line in tune.summary().warnings)
    assert "matchups" not in tune.summary().data()


def test_start_of_a_run_warns_of_a_book_that_the_tune_uses_up(tmp_path: Path) -> None:
    openings = call("Openings", book(tmp_path / "book.epd", 3))
    tune = spsa(number_of_games=4, verify=call("Verify", games=4), openings=openings)
    tune.prepare()
    assert any("leaves 1 of the 3 openings" in line for line in tune.setup().notices)
    own = call("Verify", games=4, openings=openings)
    enough = spsa(number_of_games=4, verify=own, openings=openings)
    enough.prepare()
    assert not any("openings" in line for line in enough.setup().notices)


# wrong settings


@pytest.mark.parametrize(
    ("verify", "message"),
    [
        ({"games": 3}, "verify.games: 3 is odd"),
        ({"games": 4, "against": "x"}, "verify.against: there is no player 'x'"),
        (
            {"games": 4, "against": "e:tuned"},
            "verify.against: 'e:tuned' is the code of the tuned side",
        ),
        ({"games": 4, "time_control": "1+5x30"}, "verify.time_control: UCI has no byo-yomi"),
        (
            {"games": 4, "openings": call("Openings", "x", format="sfen")},
            "verify.openings.format: the format 'sfen' is for shogi, not for chess",
        ),
    ],
)
def test_wrong_setting_is_refused_where_it_stands(verify: dict[str, Any], message: str) -> None:
    players = {"e": uci(), "e:tuned": uci()}
    with pytest.raises(Refused) as refused:
        spsa(players=players, verify=call("Verify", **verify))
    assert message in str(refused.value)


# the action verify


def test_verify_plays_only_a_match_of_the_present_estimate() -> None:
    tune = spsa()
    play_out(tune, 7)
    verifying_tune = again(tune, verifying(4))
    played = play(verifying_tune, 99, tuned_wins)
    assert [job.id for job in played] == [f"verify1_{i:04d}" for i in range(4)]
    assert played[0].parameters[0] == tune.estimated()
    assert verifying_tune.finished()
    assert (
        verifying_tune.summary().progress.completed,
        verifying_tune.summary().progress.total,
    ) == (4, 4)


def test_verify_has_a_test_where_the_control_file_has_no_verify() -> None:
    tune = spsa()
    play_out(tune, 7)
    verifying_tune = again(tune, verifying())
    assert len(play(verifying_tune, 9999, tuned_wins)) < 1000
    assert match_of(verifying_tune)["sprt"]["accepted"] == "H1"


def test_games_of_the_tune_in_progress_wait_for_the_next_run() -> None:
    tune = spsa()
    running = [tune.next_job() for _ in range(3)]
    first = running.pop(0)
    tune.record_result(first.ticket, won(first, "e+"))
    second = running.pop(0)
    tune.record_result(second.ticket, won(second, "e+"))
    verifying_tune = again(tune, verifying(2))
    assert not verifying_tune.resume(running[0].ticket)
    assert len(play(verifying_tune, 99, tuned_wins)) == 2
    later = again(verifying_tune, spsa())
    assert later.resume(running[0].ticket)
    assert later.make_job(running[0].id, 0, running[0].ticket) == running[0]
    assert later.next_job().id != running[0].id


def test_continued_tune_begins_a_new_match_and_keeps_the_old_one() -> None:
    tune = spsa()
    play_out(tune, 8)
    half = again(tune, verifying(6))
    play(half, 3, tuned_wins)
    left = half.next_job()
    tune = again(half, spsa())
    assert not tune.resume(left.ticket)
    play_out(tune, 2)
    verifying_tune = again(tune, verifying(2))
    assert not verifying_tune.resume(left.ticket)
    assert [job.id for job in play(verifying_tune, 99, tuned_wins)] == [
        "verify2_0000",
        "verify2_0001",
    ]
    first, second = verifying_tune.closing.matches
    assert (first.tally.completed, second.tally.completed) == (3, 2)
    assert first.tuned != second.tuned
    assert [info.id for info in verifying_tune.summary().matchups] == ["verify1", "verify2"]


def test_verification_does_not_change_the_tune() -> None:
    whole, tune = spsa(), spsa()
    play_out(whole)
    play_out(tune, 8)
    verifying_tune = again(tune, verifying(6))
    play(verifying_tune, 99, tuned_wins)
    later = again(verifying_tune, spsa())
    play_out(later)
    assert later.finished()
    assert {**later.state(), "matches": []} == whole.state()
    assert later.summary().progress.completed == later.summary().progress.total == 26


def test_match_begun_by_verify_is_the_closing_match_of_a_tune_that_is_done() -> None:
    verify = call("Verify", games=8)
    tune = tuned(verify=verify)
    verifying_tune = again(tune, verifying(2, number_of_games=4, verify=verify))
    play(verifying_tune, 99, tuned_wins)
    assert verifying_tune.finished()
    later = again(verifying_tune, spsa(number_of_games=4, verify=verify))
    assert not later.finished()
    assert len(play(later, 99, tuned_wins)) == 6
    assert len(later.closing.matches) == 1


def test_match_stays_as_it_stood_where_the_control_file_asks_for_none() -> None:
    tune = tuned()
    assert tune.finished()
    verifying_tune = again(tune, verifying(6, number_of_games=4))
    play(verifying_tune, 2, tuned_wins)
    later = again(verifying_tune, spsa(number_of_games=4))
    assert later.finished()
    assert later.next_job() is None
    assert (later.summary().progress.completed, later.summary().progress.total) == (6, 6)


# edits between runs


def test_match_follows_a_changed_number_of_games() -> None:
    tune = tuned(verify=call("Verify", games=6))
    play(tune, 4, tuned_wins)
    cut = again(tune, spsa(number_of_games=4, verify=call("Verify", games=2)))
    assert cut.finished()
    assert cut.next_job() is None
    raised = again(cut, spsa(number_of_games=4, verify=call("Verify", games=8)))
    assert len(play(raised, 99, tuned_wins)) == 4
    assert len(raised.closing.matches) == 1


def test_results_are_judged_by_another_test_all_together() -> None:
    tune = tuned(verify=call("Verify", games=100, sprt=call("SPRT", -1, 1)))
    play(tune, 40, tuned_wins)
    assert not tune.finished()
    easier = call("Verify", games=100, sprt=call("SPRT", 0, 100))
    later = again(tune, spsa(number_of_games=4, verify=easier))
    (line,) = later.summary().warnings[:1]
    assert line == (
        "the SPRT of the closing match has been changed: it was undecided, by the results so "
        "far it is H1 accepted"
    )
    assert later.next_job() is None
    assert later.finished()
    assert len(later.closing.matches) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"time_control": "10+0.1"},
        {"depth": 3},
        {"against": "base"},
        {"openings": call("Openings", "/nowhere/other.epd")},
    ],
)
def test_other_conditions_make_another_match(changed: dict[str, Any]) -> None:
    players = {"e": uci(), "base": uci("other")}
    tune = tuned(players=players, verify=call("Verify", games=6))
    play(tune, 2, tuned_wins)
    verify = call("Verify", games=6, **changed)
    later = again(tune, spsa(players=players, number_of_games=4, verify=verify))
    assert "the last closing match had other values or conditions" in later.summary().warnings[0]
    assert not later.finished()
    later.closing.next_game(later._standing())
    assert [m.tally.next for m in later.closing.matches] == [2, 0]


def test_folder_may_be_moved_in_the_middle_of_a_match(tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("here", "there")]
    verifies = []
    for place in places:
        place.mkdir()
        openings = call("Openings", book(place / "own.epd", 9), order="random")
        verifies.append(call("Verify", games=6, openings=openings))
    tune = tuned(verify=verifies[0])
    tune.prepare()
    play(tune, 2, tuned_wins)
    moved = again(tune, spsa(number_of_games=4, verify=verifies[1]))
    moved.prepare()
    assert len(play(moved, 99, tuned_wins)) == 4
    assert len(moved.closing.matches) == 1


# interrupted = uninterrupted


@pytest.mark.slow
@settings(deadline=None)
@given(data=st.data())
def test_matches_of_several_games_at_a_time_lose_and_double_nothing(data: st.DataObject) -> None:
    verify = call("Verify", games=20, sprt=call("SPRT", 0, 150))
    is_verifying = False
    runs = Play(lambda: verifying(10, verify=verify) if is_verifying else spsa(verify=verify))
    ids: list[str] = []

    def run(games: int, parallel: int) -> None:
        runs.interrupt()
        for _ in range(games):
            wanted = [job for job in runs.issued.values() if runs.competition.resume(job.ticket)]
            while len(wanted) < parallel and (job := runs.issue()) is not None:
                wanted.append(job)
            if not wanted:
                return
            ids.append(wanted[0].id)
            if runs.finish(ids[-1], outcome(wanted[0])).save:
                runs.save()

    for _ in range(data.draw(st.integers(1, 12))):
        is_verifying = data.draw(st.booleans())
        run(data.draw(st.integers(0, 9)), data.draw(st.integers(1, 4)))
        if data.draw(st.booleans()):
            runs.save()
    is_verifying = False
    run(1000, 3)
    tune = runs.competition
    assert tune.finished()
    assert (
        len(set(ids))
        == len(ids)
        == tune.summary().progress.completed
        == tune.summary().progress.total
    )
    matches = tune.closing.matches
    for number, match in enumerate(matches, 1):
        of_it = [id for id in ids if id.startswith(f"verify{number}_")]
        assert match.tally.completed == len(of_it)
        assert match.tally.next >= len(of_it)
    iterations = [match.iteration for match in matches]
    assert iterations == sorted(set(iterations))
    assert iterations[-1] == 10


def test_candidate_that_cannot_be_made_is_an_error_of_the_control_file() -> None:
    fail = False

    def make_candidate(mob: int) -> Any:
        assert not fail
        return uci()

    settings = {"parameters": [parameter("mob", r_end=0.5)], "make_candidate": make_candidate}
    tune = tuned(verify=call("Verify", games=4), **settings)
    fail = True
    with pytest.raises(SettingError, match="AssertionError"):
        tune.next_job()
    fail = False
    assert tune.next_job().id == "verify1_0000"
