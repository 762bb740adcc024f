"""Gauntlets: pairings, the field, edits."""

from __future__ import annotations

from typing import Any

import pytest

from ringmaster.competitions.tally import Tally, added_up
from ringmaster.model.jobs import GameJob
from ringmaster.model.results import GameResult
from ringmaster.stats import elo
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


def chess(
    challengers: Any = ("a", "b"), opponents: Any = ("x", "y"), rounds: Any = None, **settings: Any
) -> Any:
    return make(
        "gauntlet",
        **{
            "game": "chess",
            "players": {code: uci() for code in "abcxyz"},
            "challengers": challengers,
            "opponents": opponents,
            "rounds": rounds,
            **settings,
        },
    )


def go(rounds: int | None = None) -> Any:
    return chess(
        rounds=rounds,
        game="go",
        players={code: call("Player", code) for code in "abxy"},
        board_size=9,
        komi=6,
    )


def play(competition: Any, **results: str) -> None:
    """Play these pairings with the challengers' results: w, l, d, u.

    Games of other pairings stay in progress.
    """
    left = {pairing: list(letters) for pairing, letters in results.items()}
    while any(left.values()):
        job = competition.next_job()
        pairing = job.ticket["m"]
        if not left.get(pairing):
            continue
        challenger, opponent = competition.matchups[pairing].codes
        result = {
            "w": won(job, challenger),
            "l": won(job, opponent),
            "d": drawn(job),
            "u": GameResult(job.id, 0, "unknown", reason="move limit"),
        }[left[pairing].pop(0)]
        competition.record_result(job.ticket, result)


def test_each_challenger_meets_each_opponent_with_colours_alternating() -> None:
    tournament = chess(rounds=2)
    jobs = []
    while (job := tournament.next_job()) is not None:
        jobs.append((job.id, codes(job)))
    assert jobs == [
        ("Av1_0", ("a", "x")),
        ("Av2_0", ("a", "y")),
        ("Bv1_0", ("b", "x")),
        ("Bv2_0", ("b", "y")),
        ("Av1_1", ("x", "a")),
        ("Av2_1", ("y", "a")),
        ("Bv1_1", ("x", "b")),
        ("Bv2_1", ("y", "b")),
    ]
    assert tournament.summary().progress.total == 8


def test_elo_over_the_field_is_that_of_all_pairs_together() -> None:
    tournament = chess(["a"], ["x", "y"], rounds=6)
    # pairs of 1½, 1, ½ and 2, 1½, 1 points
    play(tournament, Av1="wdwldl", Av2="wwwddd")
    expected = elo.from_counts([0, 1, 2, 2, 1])
    (challenger,) = tournament.summary().data()["challengers"]
    assert challenger == {
        "code": "a",
        "letters": "A",
        "points": 7.5,
        "games": 12,
        "elo": expected.elo,
        "low": expected.low,
        "high": expected.high,
        "los": expected.los,
    }


def test_results_of_several_tallies_are_added_up_from_the_players_side() -> None:
    first, second = Tally(("p", "q")), Tally(("r", "p"))
    win = GameResult("1", 0, "win", winner=0)
    first.record_result(win, 0, 0)  # p, moving first, beats q
    first.record_result(win, 1, 0)  # q, moving first, beats p
    second.record_result(win, 0, 0)  # r, moving first, beats p
    whole = added_up(("p", "the field"), [first, second])
    assert whole.players == ("p", "the field")
    assert whole.by_colour == [[1, 0, 0, 0], [0, 2, 0, 0]]
    assert whole.pairs.counts == [0, 0, 1, 0, 0]
    assert whole.pairs.games == 3
    assert (first.completed, second.completed) == (2, 1)


def test_competitors_are_added_at_the_end_of_either_list_and_ids_stay() -> None:
    tournament = chess(rounds=2)
    job = tournament.next_job()
    tournament.record_result(job.ticket, won(job, "a"))
    later = again(tournament, chess(["a", "b", "c"], ["x", "y", "z"], rounds=2))
    assert later.summary().data()["grid"]["points"][0][3] == 1
    upcoming = [later.next_job().id for _ in range(8)]
    assert upcoming == [f"{c}v{o}_0" for c in "ABC" for o in "123"][1:]
    assert later.matchups["Av1"].codes == ("a", "x")


def test_removed_opponent_plays_no_more_and_its_results_stay() -> None:
    tournament = chess(rounds=2)
    play(tournament, Av1="ww", Av2="w")
    later = again(tournament, chess(opponents=["y"], rounds=2))
    jobs = []
    while (job := later.next_job()) is not None:
        jobs.append(job.ticket["m"])
    assert set(jobs) == {"Av2", "Bv2"}
    assert later.summary().data()["opponents"] == ["x", "y"]


def test_player_moved_to_the_other_list_starts_without_results() -> None:
    tournament = chess(rounds=1)
    job = tournament.next_job()
    tournament.record_result(job.ticket, won(job, "a"))
    later = again(tournament, chess(["a"], ["x", "y", "b"], rounds=1))
    jobs = []
    while (job := later.next_job()) is not None:
        jobs.append(job.id)
    assert jobs == ["Av2_0", "Av3_0"]
    assert later.matchups["Av3"].codes == ("a", "b")
    assert later.summary().data()["withdrawn"] == []


def test_ranking_is_by_score() -> None:
    tournament = chess(rounds=2)
    play(tournament, Av1="ll", Av2="wl", Bv1="wl", Bv2="ww")
    assert tournament.summary().data()["ranking"][0]["code"] == "b"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"opponents": ["x", "a"]}, "opponents.1: competitor 'a' is listed twice"),
        ({"challengers": ["a", "a"]}, "challengers.1: competitor 'a' is listed twice"),
        ({"opponents": ["x", "q"]}, "opponents.1: there is no player 'q'"),
    ],
)
def test_wrong_setting_is_refused_where_it_stands(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        chess(**settings)
    assert message in str(refused.value)


def test_wrong_competitors_of_both_lists_are_named_at_once() -> None:
    with pytest.raises(Refused) as refused:
        chess(["a", "q"], ["x", "r"])
    assert "challengers.1" in str(refused.value)
    assert "opponents.1" in str(refused.value)


def crashing(competition: Any, broken: str) -> list[str]:
    """Play all games, void ones of one player.  Return the warnings."""
    warnings = []
    replays: list[GameJob] = []
    while (job := replays.pop() if replays else competition.next_job()) is not None:
        if competition.make_job(job.id, 0, job.ticket) is None:
            continue
        is_void = broken in codes(job)
        result = void(job, broken) if is_void else won(job, codes(job)[0])
        verdict = competition.record_result(job.ticket, result)
        assert verdict.halt == ""
        if verdict.replay:
            replays.append(job)
        if verdict.warning:
            warnings.append(verdict.warning)
    return warnings


def test_only_the_pairings_of_a_broken_engine_stop() -> None:
    tournament = chess(rounds=2)
    assert crashing(tournament, "x") == [
        "player x: the first 5 games all ended by faults (crash); its other games wait until "
        "the next run"
    ]
    assert [tally.completed for tally in tournament.tallies.values()] == [0, 2, 0, 2]
    assert not tournament.finished()
    assert tournament.summary().waiting == [
        "player x: the first 5 games all ended by faults (crash): 4 games of 2 matchups wait",
        "repair the engine and run again, or have crashes and hangs lose the game "
        '(failures = "loss"), or withdraw x (withdrawn = ["x"])',
    ]
    assert tournament.summary().data()["stopped"] == ["x"]


def test_player_that_worked_before_stops_after_many_void_games_over_all_pairings() -> None:
    tournament = chess(rounds=4)
    play(tournament, Av1="w", Bv1="w")
    jobs = [tournament.next_job() for _ in range(4)]
    of_x = [job for job in jobs if "x" in codes(job)]
    assert {job.ticket["m"] for job in of_x} == {"Av1", "Bv1"}
    for job in of_x:
        reactions = void_often(tournament, job, 6, "x")
    assert [bool(reaction.warning) for reaction in reactions] == [False] * 4 + [True, False]
    assert "player x: 11 of the last 20 games ended by faults" in reactions[-2].warning
    assert {tournament.next_job().ticket["m"] for _ in range(4)} == {"Av2", "Bv2"}


def test_player_that_fails_against_one_opponent_only_waits_with_that_matchup() -> None:
    tournament = chess(rounds=40)
    play(tournament, Av1="w", Bv1="w")
    for _ in range(11):
        jobs = {job.ticket["m"]: job for job in (tournament.next_job() for _ in range(8))}
        warning = tournament.record_result(jobs["Av1"].ticket, void(jobs["Av1"], "x")).warning
        tournament.record_result(jobs["Bv1"].ticket, won(jobs["Bv1"], "x"))
    assert "matchup Av1: 11 of the last 20 games ended by faults" in warning
    assert tournament.make_job("Av1", 0, jobs["Av1"].ticket) is None
    assert tournament.make_job("Bv1", 0, jobs["Bv1"].ticket) is not None
    assert "withdraw x" in tournament.summary().waiting[-1]


def test_player_that_fails_in_every_other_game_plays_on_for_a_while() -> None:
    tournament = chess(rounds=40)
    play(tournament, Av1="w", Bv1="w")
    for _ in range(30):
        job = next(j for j in iter(tournament.next_job, None) if "x" in codes(j))
        assert tournament.record_result(job.ticket, void(job, "x")).warning == ""
        assert tournament.record_result(job.ticket, won(job, "x")).warning == ""


def test_next_run_gives_a_broken_engine_another_chance() -> None:
    tournament = chess(rounds=2)
    crashing(tournament, "x")
    again_broken = again(tournament, chess(rounds=2))
    assert len(crashing(again_broken, "x")) == 1
    assert again_broken.summary().void_kinds == {"x": {"crash": 10}}
    repaired = again(again_broken, chess(rounds=2))
    assert crashing(repaired, "nobody") == []
    assert repaired.summary().data()["stopped"] == []
