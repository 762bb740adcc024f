"""Stages of matchups, races of candidates, matches until a precision."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ringmaster.competitions.competition import Competition
from ringmaster.model.jobs import GameJob
from ringmaster.reporting.tables import render_report
from ringmaster.stats import stopping
from tests.competitions.settings_of import Refused, again, call, codes, drawn, make, uci, won

STC = call("Stage", "STC", sprt=call("SPRT", 0, 100), time_control="1+0.01")
LTC = call("Stage", "LTC", sprt=call("SPRT", 20, 120), only_if="STC passed")
LAST = call("Stage", "no regression", number_of_games=60, only_if="LTC passed")
STAGES = [STC, LTC, LAST]


def chess(stages: Any = (), **settings: Any) -> Any:
    return make(
        "playoff",
        **{
            "game": "chess",
            "players": {code: uci() for code in "abcdx"},
            "matchups": [call("Matchup", "a", "x")],
            "stages": stages,
            **settings,
        },
    )


def race(count: int = 4, **settings: Any) -> Any:
    matchups = [call("Matchup", code, "x") for code in "abcd"[:count]]
    return chess(**{"matchups": matchups, "race": True, "sprt": call("SPRT", 0, 100), **settings})


def play(competition: Any, letters: str = "wdwl", most: int = 20_000) -> list[GameJob]:
    """Play games one at a time; the first player's results are the letters in a cycle."""
    jobs: list[GameJob] = []
    while len(jobs) < most and (job := competition.next_job()) is not None:
        letter = letters[len(jobs) % len(letters)]
        first = competition.matchups[job.series].codes[0]
        result = drawn(job) if letter == "d" else won(job, first if letter == "w" else "x")
        competition.record_result(job.ticket, result)
        jobs.append(job)
    return jobs


def by_strength(competition: Any, elo: dict[str, float], seed: int = 1, most: int = 50_000) -> None:
    """Play games of candidates whose win rate exceeds ½ by `elo`."""
    rng = random.Random(seed)
    for _ in range(most):
        job = competition.next_job()
        if job is None:
            return
        code = competition.matchups[job.series].codes[0]
        draw, win = rng.random() < 0.3, rng.random() < 0.5 + elo[code]
        competition.record_result(
            job.ticket, drawn(job) if draw else won(job, code if win else "x")
        )


def states(competition: Any) -> list[str]:
    return [row["state"] for row in competition.summary().data()["matchups"] if row["state"]]


def remarks(competition: Any) -> list[str]:
    return [row["remark"] for row in competition.summary().data()["matchups"]]


def verdict(competition: Competition) -> str:
    return competition.summary().verdict


def test_each_stage_begins_when_the_stage_before_has_passed() -> None:
    playoff = chess(STAGES)
    assert states(playoff) == ["playing", "waiting", "waiting"]
    assert verdict(playoff) == "STC playing: no result yet: a v x, after 0 games"
    jobs = play(playoff)
    assert playoff.finished()
    assert states(playoff) == ["passed", "passed", "passed"]
    assert list(dict.fromkeys(job.series for job in jobs)) == ["0-STC", "0-LTC", "0-no-regression"]
    assert [job.series for job in jobs] == sorted(
        (job.series for job in jobs), key=["0-STC", "0-LTC", "0-no-regression"].index
    )
    assert {job.event for job in jobs if job.series == "0-LTC"} == {"event (a v x, LTC)"}
    assert verdict(playoff).startswith("passed all 3 stages: a is better: +")
    games = Counter(job.series for job in jobs)
    progress = playoff.summary().progress
    assert (progress.completed, progress.total) == (games.total(), games.total())


def test_verdict_names_the_stage_that_is_played() -> None:
    playoff = chess(STAGES)
    play(playoff, most=len(play(chess([STC]))) + 20)
    assert states(playoff) == ["passed", "playing", "waiting"]
    assert verdict(playoff).startswith("STC passed, LTC playing: a over x +")
    text = render_report(playoff.summary().report)
    assert "a v x, LTC (20 games, playing)" in text
    assert "a v x, no regression: waiting (LTC playing)" in text


def test_failed_stage_ends_the_matchup() -> None:
    playoff = chess(STAGES)
    play(playoff, "ld")
    assert playoff.finished()
    assert states(playoff) == ["failed", "skipped", "skipped"]
    assert verdict(playoff).startswith("failed at STC: ")
    assert remarks(playoff) == [None, "STC failed", "LTC skipped"]
    assert "a v x, LTC: skipped (STC failed)" in render_report(playoff.summary().report)
    assert playoff.summary().progress.total == playoff.summary().games


def test_stage_at_its_limit_without_a_decision_has_neither_passed_nor_failed() -> None:
    test = call("SPRT", 0, 5)
    playoff = chess([call("Stage", "one", sprt=test, number_of_games=20), LAST_AFTER_PASSED])
    play(playoff)
    assert states(playoff) == ["ended", "skipped"]
    assert verdict(playoff).startswith("undecided at one: ")


LAST_AFTER_PASSED = call("Stage", "two", number_of_games=20, only_if="one passed")


@pytest.mark.parametrize(
    ("letters", "expected"),
    [("w", ["passed", "passed"]), ("l", ["failed", "skipped"]), ("wl", ["ended", "skipped"])],
)
def test_stage_without_a_test_passes_by_its_interval(letters: str, expected: list[str]) -> None:
    playoff = chess([call("Stage", "one", number_of_games=60), LAST_AFTER_PASSED])
    play(playoff, letters)
    assert playoff.finished()
    assert states(playoff) == expected


def test_conditions_choose_among_later_stages() -> None:
    stages = [
        STC,
        call("Stage", "LTC", number_of_games=20, only_if="STC passed"),
        call("Stage", "wider", number_of_games=20, only_if="STC failed"),
        call("Stage", "always", number_of_games=20, only_if="STC ended"),
        call("Stage", "after", number_of_games=20),
    ]
    won_all, lost_all = chess(stages), chess(stages)
    play(won_all, "w")
    play(lost_all, "l")
    assert states(won_all) == ["passed", "passed", "skipped", "passed", "passed"]
    assert states(lost_all) == ["failed", "skipped", "failed", "failed", "failed"]


def test_next_stage_waits_for_games_in_progress() -> None:
    playoff = chess([STC, call("Stage", "LTC", number_of_games=10)])
    flying = [playoff.next_job() for _ in range(4)]
    while playoff.matchups["0-STC"].accepted == "":
        job = flying.pop(0)
        playoff.record_result(job.ticket, won(job, "a"))
        flying.append(playoff.next_job())
    while None not in flying:
        flying.append(playoff.next_job())
    flying.remove(None)
    assert {job.series for job in flying} == {"0-STC"}
    assert states(playoff) == ["playing", "waiting"]
    for job in flying:
        assert playoff.next_job() is None
        assert not playoff.finished()
        playoff.record_result(job.ticket, won(job, "x"))
    # games in progress do not take the decision back
    assert states(playoff) == ["passed", "playing"]
    assert playoff.next_job().series == "0-LTC"


def test_settings_of_a_stage_stand_over_those_of_matchup_and_top_level() -> None:
    playoff = chess(
        [STC, call("Stage", "LTC", stop_at=call("Precision", 50), depth=3)],
        matchups=[call("Matchup", "a", "x", time_control="2+0.02", sprt=call("SPRT", 0, 7))],
        players={"a": call("Player", "a"), "x": call("Player", "x")},
        sprt=call("SPRT", 0, 9),
    )
    stc, ltc = playoff.matchups.values()
    assert [str(m.players[0].time_control) for m in (stc, ltc)] == ["1+0.01", "None"]
    assert (stc.test.elo1, ltc.test.elo, ltc.players[0].depth) == (100, 50, 3)


def test_stages_continue_the_openings_of_the_stages_before(tmp_path: Path) -> None:
    book = tmp_path / "book.epd"
    line = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - hmvc {};\n"
    book.write_text("".join(line.format(n) for n in range(50)))
    stages = [call("Stage", name, number_of_games=n) for name, n in (("one", 6), ("two", 4))]
    stages.append(call("Stage", "three", number_of_games=4))
    playoff = chess(stages, openings=call("Openings", str(book)))
    playoff.prepare()
    sources = [int(job.opening.source.partition(":")[2]) for job in play(playoff)]
    assert sources == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]


def test_restarted_stage_continues_where_it_stopped() -> None:
    whole, first = chess(STAGES), chess(STAGES)
    games = play(whole)
    for cut in (1, len(games) // 2, len(games) - 3):
        first = chess(STAGES)
        begun = play(first, most=cut)
        resumed = again(first, chess(STAGES))
        letters = "wdwl"
        rest = play(resumed, letters[cut % 4 :] + letters[: cut % 4])
        assert [job.id for job in begun + rest] == [job.id for job in games]
        assert resumed.state() == whole.state()


def test_edit_of_a_decided_stage_continues_it_while_later_ones_wait() -> None:
    playoff = chess(STAGES)
    play(playoff, most=len(play(chess([STC]))) + 21)
    narrower = call("Stage", "STC", sprt=call("SPRT", 0, 100, alpha=0.001, beta=0.001))
    edited = again(playoff, chess([narrower, LTC, LAST]))
    assert states(edited) == ["playing", "waiting", "waiting"]
    assert "the SPRT has been changed: it was H1 accepted" in "\n".join(edited.summary().warnings)
    jobs = play(edited)
    assert edited.finished()
    assert jobs[0].series == "0-STC"
    # the stage's games of before count, and are not played again
    ids = [job.id for job in jobs if job.series == "0-LTC"]
    assert ids[0] == "0-LTC_21"


def test_stages_are_added_and_removed_between_runs() -> None:
    playoff = chess([STC])
    games = len(play(playoff))
    added = again(playoff, chess([STC, LTC]))
    assert not added.finished()
    assert {job.series for job in play(added)} == {"0-LTC"}
    removed = again(added, chess([LTC_ALONE]))
    assert removed.finished()
    assert states(removed) == ["passed"]
    text = render_report(removed.summary().report)
    assert "matchup 0-STC is not in the control file any more" in text
    assert removed.summary().games > games


LTC_ALONE = call("Stage", "LTC", sprt=call("SPRT", 20, 120))


def test_several_matchups_have_their_own_stages() -> None:
    matchups = [call("Matchup", "a", "x", id="ax"), call("Matchup", "b", "x", name="second")]
    then = call("Stage", "LTC", number_of_games=4, only_if="STC passed")
    playoff = chess([STC, then], matchups=matchups)
    assert [*playoff.matchups] == ["ax-STC", "ax-LTC", "1-STC", "1-LTC"]
    by_strength(playoff, {"a": 0.3, "b": -0.3})
    assert playoff.finished()
    assert states(playoff) == ["passed", "ended", "failed", "skipped"]
    assert verdict(playoff).startswith("2 of 3 matchups decided")


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        (
            [STC, call("Stage", "STC", number_of_games=2)],
            "stages.1.name: the name 'STC' has no letter, or is the name of another stage",
        ),
        (
            [call("Stage", "STC", number_of_games=2, only_if="STC passed")],
            "stages.0.only_if: no stage before 'STC' has name and outcome of 'STC passed'",
        ),
        (
            [call("Stage", "one", number_of_games=2, only_if="STC passed"), STC],
            "stages.0.only_if: no stage before 'one' has name and outcome of 'STC passed'",
        ),
        (
            [STC, call("Stage", "LTC", number_of_games=2, only_if="STD passed")],
            "stages.1.only_if: no stage before 'LTC' has name and outcome of 'STD passed'",
        ),
        (
            [STC, call("Stage", "LTC", number_of_games=2, only_if="STC won")],
            "stages.1.only_if: no stage before 'LTC' has name and outcome of 'STC won'",
        ),
        ([STC, call("Stage", "LTC")], "stages.1: nothing ends the stage 'LTC'"),
        (
            [call("Stage", "STC", sprt=call("SPRT", 2, 0))],
            "stages.0.sprt.elo1: elo1 = 0 is not above elo0 = 2",
        ),
        (
            [call("Stage", "STC", sprt=call("SPRT", 0, 2), stop_at=call("Precision", 3))],
            "stages.0.stop_at: 'sprt' is an end of the games, too",
        ),
        (
            [call("Stage", "STC", stop_at=call("Precision", 3), alternating=False)],
            "stages.0: these games show no Elo",
        ),
    ],
)
def test_stages_that_cannot_be_played_are_refused(stages: list[Any], message: str) -> None:
    with pytest.raises(Refused) as caught:
        chess(stages)
    assert str(caught.value).startswith(message)


def test_fault_of_a_stage_is_reported_once_for_all_matchups() -> None:
    matchups = [call("Matchup", "a", "x"), call("Matchup", "b", "x")]
    with pytest.raises(Refused) as caught:
        chess([call("Stage", "STC")], matchups=matchups)
    assert str(caught.value).count("nothing ends the stage") == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_playoff_never_stands_still_whatever_is_edited_between_runs(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopping, "FEWEST", 3)
    rng = random.Random(seed)

    def edited() -> Any:
        short = {"sprt": call("SPRT", -150, rng.choice([100, 150]))}
        stages = [
            call("Stage", "short", number_of_games=rng.choice([10, 20, None]), **short),
            call("Stage", "long", number_of_games=rng.choice([0, 4, 9]), only_if="short passed"),
            call("Stage", "width", stop_at=call("Precision", 150), number_of_games=9),
        ]
        games = rng.choice([8, 13, 20])
        return race(
            race=rng.choice([None, call("Race", error=0.4, number_of_games=games)]),
            stages=stages[: rng.randint(1, 3)],
            withdrawn=[code for code in "abcd" if rng.random() < 0.1],
            sprt=None,
        )

    playoff, in_progress, ids = edited(), dict[str, GameJob](), set[str]()

    def record(job: GameJob) -> None:
        result = rng.choice([drawn(job), won(job, "x"), won(job, codes(job)[0])])
        playoff.record_result(job.ticket, result)

    for _ in range(4):
        for _ in range(rng.randint(0, 40)):
            job = playoff.next_job()
            if job is not None:
                assert job.id not in ids
                ids.add(job.id)
                in_progress[job.id] = job
            resumed = [id for id, job in in_progress.items() if job.series in playoff.matchups]
            if resumed and rng.random() < 0.8:
                record(in_progress.pop(rng.choice(resumed)))
        playoff = again(playoff, edited())
        wanted = [id for id, job in in_progress.items() if playoff.resume(job.ticket)]
        for id in rng.sample(wanted, len(wanted) // 2):
            record(in_progress.pop(id))
    for id in [id for id in wanted if id in in_progress]:
        record(in_progress.pop(id))
    while (job := playoff.next_job()) is not None:
        record(job)
    assert playoff.finished()
    progress = playoff.summary().progress
    assert progress.completed == progress.total


# a race


def test_race_drops_the_weak_and_its_winner_plays_the_test_with_new_games() -> None:
    playoff = race()
    assert verdict(playoff) == "race: 4 of 4 candidates left; no result yet"
    by_strength(playoff, {"a": -0.2, "b": -0.1, "c": 0.2, "d": 0}, most=400)
    games = [playoff.tallies[f"{n}-race"].completed for n in range(4)]
    assert max(games[1:]) - games[3] <= 2
    by_strength(playoff, {"a": -0.2, "b": -0.1, "c": 0.2, "d": 0}, seed=2)
    assert playoff.finished()
    race_states = dict(zip("abcd", states(playoff)[::2], strict=True))
    assert race_states == {"a": "failed", "b": "failed", "c": "passed", "d": "failed"}
    assert states(playoff)[1::2] == ["skipped", "skipped", "passed", "skipped"]
    assert playoff.tallies["0-race"].completed < playoff.tallies["3-race"].completed
    final = playoff.matchups["2-final"]
    assert 2 * sum(final.tally.trial.decision.counts) <= final.tally.completed
    assert verdict(playoff).startswith("c won the race; final passed: c is better: +")
    assert "c is better" in remarks(playoff)[0]


def test_equal_candidates_race_to_the_limit_and_the_leader_goes_on() -> None:
    playoff = race(3, race=call("Race", number_of_games=200))
    by_strength(playoff, {"a": 0.02, "b": 0.05, "c": 0})
    assert playoff.finished()
    assert states(playoff)[::2].count("passed") == 1
    assert [playoff.tallies[f"{n}-race"].completed for n in range(3)] == [200, 200, 200]
    assert " not excluded; " in verdict(playoff)


def test_candidate_that_remains_after_withdrawals_wins_the_race() -> None:
    playoff = race(3)
    play(playoff, "wdl", most=30)
    edited = again(playoff, race(3, withdrawn=["a", "c"]))
    job = edited.next_job()
    assert job.series == "1-final"
    assert states(edited)[2:4] == ["passed", "playing"]
    assert states(edited)[:2] == ["ended", "skipped"]


def test_winner_of_a_race_plays_the_stages() -> None:
    playoff = race(2, stages=STAGES, sprt=None)
    ids = [*playoff.matchups]
    assert ids[:4] == ["0-race", "0-STC", "0-LTC", "0-no-regression"]
    by_strength(playoff, {"a": 0.35, "b": -0.2})
    assert playoff.finished()
    assert verdict(playoff).startswith("a won the race; passed all 3 stages: ")
    assert states(playoff)[4:] == ["failed", "skipped", "skipped", "skipped"]


def test_decisions_of_a_race_are_final() -> None:
    playoff = race()
    strengths = {"a": -0.2, "b": -0.1, "c": 0.2, "d": 0.1}
    decided: list[Any] = []
    while not decided:
        by_strength(playoff, strengths, most=2, seed=playoff.tallies["0-race"].completed)
        decided = [m for m in playoff.matchups.values() if m.race and m.accepted]
    resumed = again(playoff, race())
    assert [resumed.matchups[m.id].tally.trial.decision for m in decided] == [
        m.tally.trial.decision for m in decided
    ]
    edited = again(playoff, race(race=call("Race", error=0.001)))
    changed = "it was dropped, by the results so far it is undecided"
    assert f"the end of the match has been changed: {changed}" in (
        "\n".join(edited.summary().warnings)
    )


RACE_OF_TWO = "race: the matchups of a race are of two or more candidates"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"matchups": [call("Matchup", "a", "x")]}, RACE_OF_TWO),
        ({"matchups": [call("Matchup", "a", "x"), call("Matchup", "b", "c")]}, RACE_OF_TWO),
        (
            {"matchups": [call("Matchup", "a", "x"), call("Matchup", "a", "x", id="again")]},
            RACE_OF_TWO,
        ),
        ({"matchups": [call("Matchup", "a", "x"), call("Matchup", "x", "x")]}, RACE_OF_TWO),
        ({"sprt": None}, "race: nothing follows the race"),
        ({"alternating": False}, "race: these games show no Elo"),
        (
            {"stages": [call("Stage", "race", number_of_games=2)]},
            "stages.0.name: the name 'race' has no letter, or is the name of another stage",
        ),
    ],
)
def test_meaningless_races_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as caught:
        race(**settings)
    assert str(caught.value).startswith(message)


# a precision


def test_match_ends_as_soon_as_its_interval_is_narrow_enough() -> None:
    playoff = chess(stop_at=call("Precision", 40))
    by_strength(playoff, {"a": 0.05}, most=100)
    assert "after 100 games (± " in verdict(playoff)
    assert " of ± 40 Elo (95 %), about " in verdict(playoff)
    by_strength(playoff, {"a": 0.05})
    assert playoff.finished()
    reached = f"± 40 Elo (95 %) reached after {playoff.summary().games} games"
    assert verdict(playoff).endswith(f" ({reached})")
    assert remarks(playoff) == [reached]


def test_stop_is_final_whatever_games_in_progress_yield() -> None:
    playoff = chess(stop_at=call("Precision", 60))
    flying = [playoff.next_job() for _ in range(40)]
    rng = random.Random(3)
    while playoff.matchups["0"].accepted == "":
        job = flying.pop(0)
        playoff.record_result(job.ticket, drawn(job) if rng.random() < 0.4 else won(job, "a"))
        flying.append(playoff.next_job())
    while None not in flying:
        flying.append(playoff.next_job())
    for job in flying[:-1]:
        playoff.record_result(job.ticket, won(job, codes(job)[0]))
    assert playoff.finished()
    assert again(playoff, chess(stop_at=call("Precision", 60))).finished()
    wider = again(playoff, chess(stop_at=call("Precision", 10)))
    assert not wider.finished()
    assert "the end of the match has been changed: it was reached" in "\n".join(
        wider.summary().warnings
    )


@pytest.mark.parametrize("letters", ["d", "wl"])
def test_run_of_equal_results_ends_a_match_late(letters: str) -> None:
    playoff = chess(stop_at=call("Precision", 10))
    play(playoff, letters, most=180)
    assert "of ± 10 Elo" in verdict(playoff)
    play(playoff, letters)
    assert playoff.finished()
    assert remarks(playoff) == ["± 10 Elo (95 %) reached after 190 games"]
