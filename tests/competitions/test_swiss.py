"""Swiss tournaments: rounds, late entries, withdrawals, stops and edits."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.model.jobs import GameJob
from ringmaster.model.results import GameResult
from ringmaster.reporting.tables import render_report
from tests.competitions.settings_of import (
    Refused,
    again,
    call,
    codes,
    drawn,
    make,
    uci,
    void,
    void_often,
    won,
)

CODES = ["a", "b", "c", "d"]


def chess(competitors: Any = CODES, rounds: Any = 3, **settings: Any) -> Any:
    return make(
        "swiss",
        **{
            "game": "chess",
            "players": {code: uci() for code in "abcdefghi"},
            "competitors": competitors,
            "rounds": rounds,
            **settings,
        },
    )


def better(job: GameJob) -> GameResult:
    """Return a win of the player first in the alphabet."""
    return won(job, min(codes(job)))


def play(
    competition: Any, games: int | None = None, result: Callable[[GameJob], GameResult] = better
) -> list[str]:
    """Play at most this number of games one at a time, and return their ids."""
    played: list[str] = []
    while games is None or len(played) < games:
        job = competition.next_job()
        if job is None:
            break
        played.append(job.id)
        competition.record_result(job.ticket, result(job))
    return played


def paired(competition: Any) -> list[list[str]]:
    """Return the pairs and byes of each round."""
    return [
        ["".join(p["players"]) for p in r["pairings"]] + ([r["bye"]] if r["bye"] else [])
        for r in competition.summary().data()["rounds"]
    ]


def points(competition: Any) -> dict[str, float]:
    return {row["code"]: row["points"] for row in competition.summary().data()["table"]}


def lines(report: Any) -> list[list[str]]:
    return [line.split() for line in render_report(report).splitlines()]


def test_winners_meet_winners_and_each_player_has_each_colour() -> None:
    tournament = chess()
    assert play(tournament) == [
        *("1AvC_0", "1BvD_0", "1AvC_1", "1BvD_1"),
        *("2AvB_0", "2CvD_0", "2AvB_1", "2CvD_1"),
        *("3AvD_0", "3BvC_0", "3AvD_1", "3BvC_1"),
    ]
    assert tournament.finished()
    assert points(tournament) == {"a": 6, "b": 4, "c": 2, "d": 0}
    seats = [
        tournament.make_job("x", 0, {"m": "1AvC", "i": i, "b": i, "p": 0}).players for i in (0, 1)
    ]
    assert [player.code for pair in seats for player in pair] == ["a", "c", "c", "a"]


def test_round_begins_when_all_games_of_the_one_before_are_done() -> None:
    tournament = chess()
    jobs = [tournament.next_job() for _ in range(4)]
    assert tournament.next_job() is None
    assert not tournament.finished()
    for job in jobs[:3]:
        tournament.record_result(job.ticket, better(job))
        assert tournament.next_job() is None
    assert not tournament.record_result(jobs[3].ticket, void(jobs[3])).save
    assert tournament.next_job() is None
    # later settings must not change its pairing
    assert tournament.record_result(jobs[3].ticket, better(jobs[3])).save
    assert tournament.next_job().id == "2AvB_0"


def test_odd_one_out_has_a_bye_of_as_many_points_as_a_pairing_has_games() -> None:
    tournament = chess(CODES[:3], games_per_pairing=4)
    play(tournament)
    assert paired(tournament) == [["ab", "c"], ["ac", "b"], ["bc", "a"]]
    assert points(tournament) == {"a": 12, "b": 8, "c": 4}
    assert tournament.summary().progress.total == tournament.summary().progress.completed == 12


def test_odd_number_of_games_gives_the_first_move_to_whom_it_is_due() -> None:
    tournament = chess(games_per_pairing=1)
    play(tournament)
    firsts = [pair[0] for pairs in paired(tournament) for pair in pairs]
    counts = {code: firsts.count(code) for code in CODES}
    assert set(counts.values()) <= {1, 2}


def test_seeds_are_by_rating_and_unrated_competitors_come_last() -> None:
    tournament = chess(ratings={"c": 2000, "b": 2100.5})
    play(tournament, 1)
    # b, c, a, d: the first meets the third
    assert paired(tournament) == [["ba", "cd"]]


def test_every_round_has_new_openings_the_same_on_all_boards(tmp_path: Any) -> None:
    book = tmp_path / "book.epd"
    moved = ("4P3/8/PPPP1PPP", "3P4/8/PPP1PPPP", "2P5/8/PP1PPPPP", "8/2N5/PPPPPPPP")
    tails = ("RNBQKBNR", "RNBQKBNR", "RNBQKBNR", "R1BQKBNR")
    book.write_text(
        "".join(
            f"rnbqkbnr/pppppppp/8/8/{middle}/{tail} b KQkq -\n"
            for middle, tail in zip(moved, tails, strict=True)
        )
    )
    tournament = chess(rounds=2, games_per_pairing=3, openings=call("Openings", str(book)))
    tournament.prepare()
    assert tournament.summary().warnings == []
    sources: dict[str, str] = {}

    def note(job: GameJob) -> GameResult:
        sources[job.id] = job.opening.source
        return better(job)

    play(tournament, result=note)
    for round, lines_of_book in ((1, (1, 1, 2)), (2, (3, 3, 4))):
        for pairing in tournament.summary().data()["rounds"][round - 1]["pairings"]:
            id = pairing["matchup"]
            assert [sources[f"{id}_{i}"] for i in range(3)] == [
                f"book.epd:{n}" for n in lines_of_book
            ]


def test_openings_by_encounter_continue_after_openings_by_round(tmp_path: Path) -> None:
    book = tmp_path / "book.epd"
    ranks = ("8", "7p", "p7", "1p6", "6p1", "2p5", "5p2", "3p4")
    book.write_text("".join(f"4k3/{rank}/8/8/8/8/8/R3K3 w Q -\n" for rank in ranks))

    def policy(name: str) -> Any:
        return chess(openings=call("Openings", str(book), policy=name))

    tournament = policy("round")
    tournament.prepare()
    # round 1 has the first opening on both boards, the first board of round 2 the second
    play(tournament, 5)
    edited = again(tournament, policy("encounter"))
    edited.prepare()
    sources: dict[str, str] = {}

    def note(job: GameJob) -> GameResult:
        sources[job.id] = job.opening.source
        return better(job)

    play(edited, result=note)
    lines = {id: int(source.split(":")[1]) for id, source in sources.items()}
    assert lines == {
        "2AvB_1": 2,
        **{f"2CvD_{i}": 3 for i in (0, 1)},
        **{f"3AvD_{i}": 4 for i in (0, 1)},
        **{f"3BvC_{i}": 5 for i in (0, 1)},
    }


def test_void_game_is_played_again_and_does_not_end_the_round() -> None:
    tournament = chess()
    play(tournament, 4)
    *reactions, last = void_often(tournament, tournament.next_job(), 5)
    assert all(reaction.replay and not reaction.warning for reaction in reactions)
    assert last.warning.startswith("matchup 2AvB: the first 5 games all ended by faults")


def test_round_waits_for_a_player_with_void_games() -> None:
    tournament = chess()
    job = tournament.next_job()
    assert [bool(r.warning) for r in void_often(tournament, job, 5, "c")] == [False] * 4 + [True]
    assert play(tournament) == ["1BvD_0", "1BvD_1"]
    assert not tournament.finished()
    assert 'withdrawn = ["c"]' in tournament.summary().waiting[-1]
    # withdrawn, it leaves its points to the opponent, and the next round can be paired
    later = again(tournament, chess(withdrawn=["c"]))
    assert play(later)[0].startswith("2")
    assert points(later)["a"] >= 2
    # repaired, it plays on
    assert play(again(tournament, chess()))[0] == "1AvC_1"


def test_unknown_result_gives_nothing_to_either() -> None:
    tournament = chess(["a", "b"], rounds=1)
    play(tournament, result=lambda job: GameResult(job.id, 0, "unknown", reason="move limit"))
    assert points(tournament) == {"a": 0, "b": 0}
    assert "unknown results: 2" in render_report(tournament.summary().report)


def test_competitor_that_is_added_joins_in_the_next_round_with_nothing() -> None:
    tournament = chess()
    play(tournament, 5)
    later = again(tournament, chess([*CODES, "e", "f"]))
    assert play(later, 3) == ["2CvD_0", "2AvB_1", "2CvD_1"]
    play(later)
    assert paired(later)[:2] == paired(tournament)
    # a has 4, b and c 2, the others 0: the first of the others floats up
    assert paired(later)[2] == ["ad", "bc", "ef"]
    of_e = next(row for row in lines(later.summary(live=True).report) if row[1:3] == ["E", "e"])
    assert of_e[3:6] == ["2", "F", "2-0"], "nothing stands for the rounds before"


def test_pairing_waits_for_the_first_game_so_that_an_edit_at_the_end_of_a_round_counts() -> None:
    tournament = chess()
    play(tournament, 4)
    later = again(tournament, chess([*CODES, "e", "f"]))
    later.next_job()
    assert sorted("".join(paired(later)[1])) == list("abcdef")


def test_withdrawn_competitor_is_not_paired_and_games_it_owes_count_for_its_opponent() -> None:
    tournament = chess()
    play(tournament, 2, lambda job: won(job, "c") if "c" in codes(job) else drawn(job))
    without = again(tournament, chess(withdrawn=["c"]))
    # c had won the first game against a, the second is not played
    assert play(without, 1, drawn) == ["1BvD_1"]
    assert points(without) == {"a": 1, "b": 1, "c": 1, "d": 1}
    assert "1 not played, for a" in render_report(without.summary().report)
    assert without.summary().progress.total == 3 + 2 + 2
    play(without)
    assert without.finished()
    assert [sorted("".join(pairs)) for pairs in paired(without)] == [
        list("abcd"),
        list("abd"),
        list("abd"),
    ]
    assert "withdrawn: c" in render_report(without.summary().report)
    # settled games stay settled after its return
    back = again(without, chess(rounds=4))
    assert points(back) == points(without)
    play(back)
    assert sorted("".join(paired(back)[3])) == list("abcd")


def test_games_of_two_withdrawn_players_count_for_neither() -> None:
    tournament = chess()
    tournament.next_job()
    without = again(tournament, chess(withdrawn=["a", "c"]))
    play(without)
    assert points(without)["a"] == points(without)["c"] == 0
    assert "2 not played, for nobody" in render_report(without.summary().report)


def test_game_of_a_withdrawn_competitor_that_never_came_back_is_not_waited_for() -> None:
    tournament = chess(rounds=1)
    jobs = [tournament.next_job() for _ in range(4)]
    without = again(tournament, chess(rounds=1, withdrawn=["c"]))
    assert [without.resume(job.ticket) for job in jobs] == [False, True, False, True]
    for job in jobs[1::2]:
        without.record_result(job.ticket, better(job))
    assert without.finished()


def test_rounds_can_be_raised_after_the_end_and_lowered() -> None:
    tournament = chess(rounds=1)
    play(tournament)
    assert tournament.finished()
    more = again(tournament, chess(rounds=2))
    assert not more.finished()
    play(more, 1)
    fewer = again(more, chess(rounds=1))
    assert fewer.finished()
    assert fewer.next_job() is None
    assert fewer.summary().progress.total == fewer.summary().progress.completed == 5
    # the round in progress is finished first
    assert play(again(fewer, chess(rounds=3)))[:3] == ["2CvD_0", "2AvB_1", "2CvD_1"]


def test_games_per_pairing_change_from_the_next_round_on() -> None:
    tournament = chess(rounds=2)
    play(tournament, 2)
    later = again(tournament, chess(rounds=2, games_per_pairing=4))
    play(later)
    assert [r["games_per_pairing"] for r in later.summary().data()["rounds"]] == [2, 4]
    assert later.summary().progress.completed == 4 + 8


def test_removed_competitor_is_as_if_withdrawn_also_without_its_player() -> None:
    tournament = chess()
    play(tournament, 5)
    players = {code: uci() for code in "abc"}
    later = again(tournament, chess(["c", "b", "a"], players=players))
    play(later)
    assert later.finished()
    assert paired(later)[0] == paired(tournament)[0]
    assert all("d" not in "".join(pairs) for pairs in paired(later)[2:])
    assert later.summary().data()["withdrawn"] == ["d"]
    assert "withdrawn: d" in render_report(later.summary().report)
    assert later.summary().progress.total == later.summary().progress.completed


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"competitors": ["a"]}, "competitors: the list has 1 items"),
        ({"competitors": ["a", "a"]}, "competitors.1: competitor 'a' is listed twice"),
        ({"competitors": ["a", "q"]}, "competitors.1: there is no player 'q'"),
        ({"rounds": 0}, "rounds: 0 is out of range"),
        ({"rounds": None}, "rounds"),
        ({"games_per_pairing": 0}, "games_per_pairing: 0 is out of range"),
        ({"ratings": {"e": 2000}}, "ratings.e: 'e' is not among the competitors"),
        ({"ratings": {"a": "high"}}, "ratings.a: 'high' is not a number"),
        ({"withdrawn": ["a", "e"]}, "withdrawn.1: 'e' does not take part"),
    ],
)
def test_wrong_setting_is_refused_where_it_stands(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        chess(**settings)
    assert message in str(refused.value)


def test_rounds_that_must_be_rematches_are_warned_of() -> None:
    book = {"openings": call("Openings", "book.epd")}
    assert chess(rounds=3, **book).summary().warnings == []
    assert chess(rounds=4, **book).summary().warnings == [
        "4 competitors have all met after 3 rounds: later ones are rematches"
    ]
    assert chess(CODES[:3], rounds=3, **book).summary().warnings == []
    assert len(chess(CODES[:3], rounds=4, **book).summary().warnings) == 1
    assert chess().summary().warnings[0].startswith("without openings")


def test_summary_has_the_table_and_the_rounds() -> None:
    tournament = chess(rounds=2)
    play(tournament)
    summary = tournament.summary().data()
    assert summary["table"][0] == {
        "place": 1,
        "code": "a",
        "points": 4,
        "buchholz_cut_1": 2,
        "sonneborn_berger": 8,
        "direct_encounter": None,
    }
    assert summary["rounds"][1] == {
        "games_per_pairing": 2,
        "pairings": [
            {"matchup": "2AvB", "players": ["a", "b"], "points": [2, 0]},
            {"matchup": "2CvD", "players": ["c", "d"], "points": [2, 0]},
        ],
        "bye": None,
    }
    assert [matchup["id"] for matchup in summary["matchups"]] == ["1AvC", "1BvD", "2AvB", "2CvD"]
    assert summary["grid"]["points"][0] == [None, 2, 2, 0]


@pytest.mark.slow
@hypothesis.settings(deadline=None)
@given(st.integers(2, 9), st.integers(1, 2), st.randoms(use_true_random=False))
def test_edited_tournament_plays_every_round_to_its_end(
    count: int, games: int, rng: random.Random
) -> None:
    """Competitors come and go at any moment: nobody meets two at once, no round
    begins before the last is over, and the tournament ends."""
    entered = list("abcdefghi"[:count])
    withdrawn: list[str] = []
    tournament = chess(entered, 6, games_per_pairing=games)
    issued: dict[str, GameJob] = {}
    while not tournament.finished():
        if rng.random() < 0.1:
            if len(entered) < 9 and rng.random() < 0.5:
                entered = [*entered, "abcdefghi"[len(entered)]]
            elif len(entered) - len(withdrawn) > 2:
                withdrawn = [*withdrawn, rng.choice([c for c in entered if c not in withdrawn])]
            tournament = again(
                tournament, chess(entered, 6, games_per_pairing=games, withdrawn=withdrawn)
            )
            issued = {id: job for id, job in issued.items() if tournament.resume(job.ticket)}
        job = tournament.next_job() if rng.random() < 0.6 else None
        if job is not None:
            issued[job.id] = job
        elif issued:
            job = issued.pop(rng.choice(sorted(issued)))
            result = rng.choice([drawn, better])(job)
            tournament.record_result(job.ticket, result)
        assert len({id.split("_")[0][0] for id in issued}) <= 1
    assert len(paired(tournament)) == 6
    total = 0.0
    for round_data in tournament.summary().data()["rounds"]:
        playing = [code for pairing in round_data["pairings"] for code in pairing["players"]]
        playing += [round_data["bye"]] if round_data["bye"] else []
        assert len(set(playing)) == len(playing)
        total += sum(sum(pairing["points"]) for pairing in round_data["pairings"])
        total += round_data["games_per_pairing"] if round_data["bye"] else 0
    assert sum(points(tournament).values()) == total


def test_a_handicap_needs_pairs_in_each_round() -> None:
    go = {"game": "go", "players": {code: call("Player", code) for code in CODES}}
    rules = {**go, "board_size": 9, "komi": 7, "handicap": 2}
    message = "games_per_pairing: with a handicap, pairs are played"
    with pytest.raises(Refused, match=message):
        chess(games_per_pairing=3, **rules)
    assert chess(games_per_pairing=4, **rules).next_job().settings.handicap == 2


def test_referee_is_a_player_of_the_conditions_before_the_first_round() -> None:
    referee = {"judge": call("Player", "judge")}
    settings = {"board_size": 9, "komi": 6.5, "scorer": "referee", "referee": "judge"}
    players = {code: call("Player", code) for code in "abc"} | referee
    swiss = make("swiss", players=players, competitors=["a", "b", "c"], rounds=2, **settings)
    assert [each.player.code for each in swiss.summary().contestants] == ["a", "b", "c", "judge"]
