"""Handicap ladders of playoffs: games, end, reports, edits between runs."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from ringmaster.errors import StateRefused
from ringmaster.model.jobs import GameJob
from ringmaster.reporting.tables import render_report
from tests.competitions.settings_of import Refused, again, call, codes, drawn, make, won

KOMI = call("HandicapLadder", komi_step=2)


def ladder(**settings: Any) -> Any:
    return make(
        "playoff",
        **{
            "game": "go",
            "board_size": 19,
            "komi": 7.5,
            "players": {code: call("Player", "engine") for code in ("weak", "strong")},
            "matchups": [call("Matchup", "weak", "strong")],
            "handicap_ladder": True,
            **settings,
        },
    )


def play(playoff: Any, even: float, most: int = 1000, seed: int = 1) -> list[GameJob]:
    """Play games of players who are even at a level, with 150 Elo a level."""
    rng, jobs = random.Random(seed), list[GameJob]()
    matchup = playoff.matchups["0"]
    while len(jobs) < most and (job := playoff.next_job()) is not None:
        level = [*matchup.terms].index(job.ticket["h"]) - len(matchup.terms) // 2
        win = rng.random() < 1 / (1 + 10 ** ((even - level) * 150 / 400))
        playoff.record_result(job.ticket, won(job, matchup.codes[not win]))
        jobs.append(job)
    return jobs


def terms(job: GameJob) -> tuple[Any, ...]:
    return job.ticket["h"], codes(job)[0], job.settings.handicap, job.settings.komi


def test_games_have_the_terms_of_their_level() -> None:
    playoff = ladder()
    jobs = play(playoff, 1.0)
    seen = dict.fromkeys(map(terms, jobs))
    assert seen.keys() >= {
        ("even, komi 7.5", "weak", None, 7.5),
        ("even, komi 7.5", "strong", None, 7.5),
        ("weak Black, komi 0.5", "weak", None, 0.5),
        ("weak Black, 2 stones", "weak", 2, 0.5),
        ("strong Black, komi 0.5", "strong", None, 0.5),
    }
    for job in jobs:
        if job.ticket["h"] == "even, komi 7.5":
            assert codes(job)[0] == ("weak", "strong")[job.ticket["i"] % 2]


def test_ladder_by_komi_has_the_first_player_black() -> None:
    playoff = ladder(handicap_ladder=KOMI)
    for job in play(playoff, 1.0):
        assert terms(job)[1:3] == ("weak", None)
        assert job.ticket["h"] == f"weak Black, komi {job.settings.komi:g}"
    text = playoff.summary().verdict
    assert text.startswith("weak and strong are even at komi ")
    assert " with weak Black (" in text


def test_small_board_has_few_fixed_handicaps() -> None:
    assert [*ladder(board_size=9).matchups["0"].terms][-1] == "weak Black, 9 stones"
    assert [*ladder(board_size=7).matchups["0"].terms][-1] == "weak Black, 4 stones"
    assert [*ladder(board_size=5).matchups["0"].terms] == [
        "strong Black, komi 0.5",
        "even, komi 7.5",
        "weak Black, komi 0.5",
    ]
    # engines may place fewer stones than they are asked for
    free = ladder(board_size=9, handicap_style="free").matchups["0"]
    assert [*free.terms][-1] == "weak Black, 9 stones"


def test_startup_check_has_handicap_stones() -> None:
    for job in ladder().setup().checks:
        assert job.settings.handicap == 9


def test_ladder_ends_at_its_precision() -> None:
    playoff = ladder()
    assert playoff.summary().verdict == "no result yet: weak v strong, after 0 games"
    play(playoff, 3.2, most=30)
    assert " of ± 0.5 levels (95 %), about " in playoff.summary().verdict
    games = 30 + len(play(playoff, 3.2))
    assert playoff.finished()
    (data,) = playoff.summary().data()["matchups"]
    even, low, high = data["handicap_ladder"]["even"]
    assert low < 3.2 < high <= low + 1
    text = f"weak and strong are even at {even:.1f} handicap stones for weak"
    text += f" ({low:.1f} to {high:.1f}, 95 %)"
    reached = f"± 0.5 levels (95 %) reached after {games} games"
    assert playoff.summary().verdict == f"{text}, after {games} games ({reached})"
    assert data["handicap_ladder"]["text"] == text
    assert data["remark"] == reached
    assert sum(map(sum, data["handicap_ladder"]["levels"].values())) == games


def test_end_is_told_with_the_even_level() -> None:
    playoff = ladder()
    milestones = []
    while (job := playoff.next_job()) is not None:
        winner = "strong" if job.settings.handicap in (None, 2, 3) else "weak"
        reaction = playoff.record_result(job.ticket, won(job, winner))
        assert reaction.line.endswith(f" ({job.ticket['h']})")
        milestones += filter(None, [reaction.milestone])
    (milestone,) = milestones
    assert milestone.startswith("weak v strong: weak and strong are even at 3.")


def test_report_has_a_row_for_each_level_and_no_elo() -> None:
    playoff = ladder(board_size=9)
    play(playoff, 3.2)
    text = render_report(playoff.summary().report)
    rows = [line.split() for line in text.splitlines()]
    assert ["level", "weak", "won-lost-jigo", "score"] in rows
    assert ["weak", "Black,", "6", "stones", "2-0-0", "100%"] in rows
    assert "Elo" not in text
    assert " scores " not in text
    live = render_report(playoff.summary(live=True).report)
    assert "even at (95 %)" in live
    assert "Elo" not in live
    (info,) = playoff.summary().matchups
    assert not info.even
    assert not playoff.matchups["0"].even
    (data,) = playoff.summary().data()["matchups"]
    assert data["elo"] is data["los"] is None


def test_even_level_off_the_ladder_is_said_in_the_verdict() -> None:
    playoff = ladder()
    play(playoff, 30)
    assert playoff.finished()
    verdict = "weak and strong are not even on the ladder, which ends at weak Black, 9 stones"
    assert playoff.summary().verdict.startswith(f"{verdict}, after ")
    assert playoff.summary().verdict.endswith(" (off the ladder after 20 games)")


def test_limit_of_games_ends_a_ladder() -> None:
    playoff = ladder(number_of_games=25)
    assert len(play(playoff, 3.2)) == 25
    assert playoff.summary().verdict.endswith(" of ± 0.5 levels (95 %))")


def test_several_ladders_have_a_common_verdict() -> None:
    playoff = ladder(
        matchups=[
            call("Matchup", "weak", "strong"),
            call("Matchup", "weak", "strong", handicap_ladder=KOMI),
        ],
    )
    while (job := playoff.next_job()) is not None:
        level = [*playoff.matchups[job.series].terms].index(job.ticket["h"])
        is_high = level > len(playoff.matchups[job.series].terms) // 2 + 2
        playoff.record_result(job.ticket, won(job, "weak" if is_high else "strong"))
    assert playoff.summary().verdict.startswith("2 of 2 matchups decided; weak and strong are even")


@pytest.mark.parametrize("kind", [True, KOMI])
def test_resumed_ladder_chooses_the_same_levels(kind: Any) -> None:
    playoff = ladder(handicap_ladder=kind)
    play(playoff, 2.0, most=40)
    state = msgspec.json.encode(playoff.state())
    fresh = again(playoff, ladder(handicap_ladder=kind))
    assert msgspec.json.encode(fresh.state()) == state
    for _ in range(5):
        assert fresh.next_job() == playoff.next_job()


def test_state_does_not_grow_with_the_games() -> None:
    playoff = ladder(handicap_ladder=call("HandicapLadder", precision=0.25))
    play(playoff, 2.0, most=150)
    before = len(msgspec.json.encode(playoff.state()))
    play(playoff, 2.0, most=150)
    assert len(msgspec.json.encode(playoff.state())) < before + 200


def test_jigo_counts_half() -> None:
    playoff = ladder(komi=7)
    job = playoff.next_job()
    playoff.record_result(job.ticket, drawn(job))
    assert playoff.tallies["0"].levels == {job.ticket["h"]: [0, 1, 0]}


NONE = {"handicap_ladder": None}
EXCHANGED = {"matchups": [call("Matchup", "strong", "weak")]}


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({}, {"handicap_ladder": call("HandicapLadder", precision=0.3)}),
        ({}, {"board_size": 13}),
        (
            {"handicap_ladder": KOMI},
            {"handicap_ladder": call("HandicapLadder", komi_step=2, precision=1)},
        ),
        # all former levels are levels
        ({"handicap_ladder": KOMI}, {"handicap_ladder": call("HandicapLadder", komi_step=1)}),
    ],
)
def test_edit_of_a_ladder_keeps_all_results(before: Any, now: Any) -> None:
    playoff = ladder(**before)
    games = len(play(playoff, 1.0))
    (matchup,) = again(playoff, ladder(**before | now)).summary().data()["matchups"]
    assert sum(map(sum, matchup["handicap_ladder"]["levels"].values())) == games


@pytest.mark.parametrize("is_killed", [False, True])
@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({}, {"handicap_ladder": KOMI}),
        ({}, {"komi": 6.5}),
        ({}, NONE),
        ({}, {"matchups": [call("Matchup", "weak", "strong", handicap_ladder=False)]}),
        (NONE, {"handicap_ladder": True}),
        (
            {"handicap_ladder": KOMI},
            {"handicap_ladder": call("HandicapLadder", komi_step=3)},
        ),
        ({"handicap_ladder": KOMI}, {"handicap_ladder": KOMI, "komi": 6.75}),
        ({"handicap_ladder": KOMI}, {"handicap_ladder": KOMI, **EXCHANGED}),
    ],
)
def test_ladder_of_games_at_other_levels_is_refused(before: Any, now: Any, is_killed: bool) -> None:
    playoff, fresh = ladder(**before), ladder(**before | now)
    if before == NONE:
        tickets = [(job := playoff.next_job()).ticket]
        playoff.record_result(job.ticket, won(job, "weak"))
    else:
        tickets = [job.ticket for job in play(playoff, 0.0, most=60)]

    def resume() -> None:
        for ticket in tickets:
            fresh.resume(ticket)

    with pytest.raises(StateRefused, match="matchup 0 were at other handicaps or another komi"):
        resume() if is_killed else again(playoff, fresh)


def test_players_may_exchange_their_places() -> None:
    playoff = ladder()
    play(playoff, 3.0)
    edited = again(playoff, ladder(matchups=[call("Matchup", "strong", "weak")]))
    one, other = (p.summary().data()["matchups"][0]["handicap_ladder"] for p in (playoff, edited))
    level, low, high = one["even"]
    assert other["even"] == pytest.approx([-level, -high, -low], abs=1e-6)
    assert other["text"].startswith("strong and weak are even at -")


def test_matchup_may_switch_the_ladder_off() -> None:
    playoff = ladder(
        matchups=[
            call("Matchup", "weak", "strong"),
            call("Matchup", "weak", "strong", handicap_ladder=False, handicap=2),
            call("Matchup", "weak", "strong", sprt=call("SPRT", 0, 50), alternating=True),
        ],
    )
    assert [len(matchup.terms) for matchup in playoff.matchups.values()] == [19, 1, 1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"handicap": 2}, "'handicap' does not go with a ladder"),
        ({"alternating": True}, "'alternating' does not go with a ladder"),
        ({"openings": call("Openings", "book.sgf")}, "'openings' does not go with a ladder"),
        ({"sprt": call("SPRT", 0, 5)}, "'sprt' is an end of the games, too"),
        ({"stop_at": call("Precision", 5)}, "'stop_at' is an end of the games, too"),
    ],
)
def test_settings_against_a_ladder_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as caught:
        ladder(**settings)
    assert message in str(caught.value)
    assert str(caught.value).startswith("handicap_ladder: ")


def test_ladder_of_chess_and_of_a_race_is_refused() -> None:
    chess = {"game": "chess", "board_size": None, "komi": None}
    with pytest.raises(Refused, match="chess has no handicap and no komi"):
        ladder(**chess)
    players = {code: call("Player", "engine") for code in "abx"}
    matchups = [call("Matchup", "a", "x"), call("Matchup", "b", "x")]
    stages = [call("Stage", "final")]
    with pytest.raises(Refused, match="'race' does not go with a ladder"):
        ladder(players=players, matchups=matchups, race=True, stages=stages, alternating=True)


def test_precision_is_at_least_a_quarter_of_a_level() -> None:
    with pytest.raises(Refused, match=r"handicap_ladder\.precision: 0\.1 "):
        ladder(handicap_ladder=call("HandicapLadder", precision=0.1))
