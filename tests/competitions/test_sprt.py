"""Sequential tests of matchups: their end, their state, edits, reports."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ringmaster.model.results import EngineUsage, GameResult
from ringmaster.stats.sprt import Sprt
from tests.competitions.settings_of import Refused, again, call, drawn, make, uci, void, won


def sprt(elo0: float = 0, elo1: float = 100, **settings: Any) -> Any:
    return call("SPRT", elo0, elo1, **settings)


def chess(test: Any, number_of_games: int | None = None, **settings: Any) -> Any:
    return make(
        "playoff",
        game="chess",
        players={"a": uci(), "b": uci()},
        matchups=[call("Matchup", "a", "b", number_of_games=number_of_games)],
        sprt=test,
        **settings,
    )


def go(test: Any, **settings: Any) -> Any:
    return make(
        "playoff",
        players={"a": call("Player", "a"), "b": call("Player", "b")},
        board_size=9,
        komi=6.5,
        matchups=[call("Matchup", "a", "b")],
        sprt=test,
        **settings,
    )


def result(job: Any, letter: str) -> GameResult:
    """ "w": a won, "l": b won, "d": a draw, "u": no result, "v": void."""
    if letter in "wl":
        return won(job, "a" if letter == "w" else "b")
    if letter == "u":
        return GameResult(job.id, 0, "unknown", reason="move limit")
    return drawn(job) if letter == "d" else void(job)


def play(competition: Any, letters: str) -> int:
    """Play all games one at a time, with the letters in a cycle.  Return their number."""
    games = 0
    while (job := competition.next_job()) is not None:
        competition.record_result(job.ticket, result(job, letters[games % len(letters)]))
        games += 1
        assert games < 5000
    return games


def trial(competition: Any) -> Any:
    return competition.tallies["0"].trial


def told(competition: Any) -> Any:
    (matchup,) = competition.summary().data()["matchups"]
    return matchup["sprt"]


def test_matchup_ends_when_its_test_is_decided() -> None:
    playoff = chess(sprt())
    games = play(playoff, "wdwl")
    assert playoff.finished()
    decision = trial(playoff).decision
    assert decision.accepted == "H1"
    assert 2 * sum(decision.counts) == games
    test = Sprt(0, 100)
    assert decision.llr == test.llr(decision.counts) >= test.bounds[1]
    # one pair fewer was not enough
    assert test.judge([decision.counts[0], 0, decision.counts[2], decision.counts[3] - 1, 0]) == ""
    assert (playoff.summary().progress.completed, playoff.summary().progress.total) == (
        games,
        games,
    )


def test_decision_is_a_line_of_the_history_and_is_saved_at_once() -> None:
    playoff = chess(sprt())
    verdicts = []
    while (job := playoff.next_job()) is not None:
        verdicts.append(playoff.record_result(job.ticket, won(job, "a")))
    assert [v.save for v in verdicts] == [False] * (len(verdicts) - 1) + [True]
    assert verdicts[-1].notes[0].startswith("matchup 0: SPRT 0 to 100 nElo: H1 accepted after")
    assert verdicts[-1].notes[1] == "matchup 0: a is stronger than b"


def test_games_in_progress_are_finished_and_half_pairs_completed() -> None:
    playoff = chess(sprt())
    flying = [playoff.next_job() for _ in range(4)]
    while trial(playoff).decision is None:
        job = flying.pop(0)
        playoff.record_result(job.ticket, won(job, "a"))
        if trial(playoff).decision is None:
            flying.append(playoff.next_job())
    decided = trial(playoff).decision
    # the last issued game is the first of a pair
    assert flying[-1].ticket["i"] % 2 == 0
    last = playoff.next_job()
    assert last.ticket["i"] == flying[-1].ticket["i"] + 1
    assert playoff.next_job() is None
    assert not playoff.finished()
    for job in (*flying, last):
        playoff.record_result(job.ticket, won(job, "b"))
    assert playoff.finished()
    assert playoff.tallies["0"].pairs.half == {}
    # they count, and do not take the verdict back
    assert playoff.tallies["0"].total(1) == 4
    assert trial(playoff).decision == decided
    assert told(playoff)["llr"] < told(playoff)["llr_at_decision"]


def test_state_of_an_earlier_version_without_stored_ratios_is_restored() -> None:
    playoff = chess(sprt(0, 5), number_of_games=20)
    play(playoff, "wdwl")
    state = playoff.state()
    del state["matchups"]["0"]["trial"]["latest"]
    later = chess(sprt(0, 5), number_of_games=20)
    later.restore(state)
    assert told(later) == told(playoff)


def broken(job: Any) -> GameResult:
    """b never answers."""
    winner = [player.code for player in job.players].index("a")
    return GameResult(job.id, 0, "win", winner=winner, reason="crash", forfeit=True)


def doubts(competition: Any) -> list[str]:
    return [doubt.sentence for doubt in competition.summary().doubts]


def test_verdict_on_a_test_decided_by_forfeits_names_them() -> None:
    playoff = chess(sprt())
    games = 0
    while (job := playoff.next_job()) is not None:
        reaction = playoff.record_result(job.ticket, drawn(job) if games % 3 else broken(job))
        games += 1
    lost = -(-games // 3)
    doubt = f"b lost {lost} of {games} games by faults ({lost} crashes)"
    assert doubts(playoff) == [doubt]
    assert playoff.summary().verdict.endswith(f"; doubtful: {doubt}")
    assert any(doubt in note for note in reaction.notes)


@pytest.mark.parametrize(
    ("used", "doubt"),
    [
        (EngineUsage(extra_moves=2), "a sent moves without a search in 3 of 10 games"),
        (EngineUsage(disputed=True), "a names another winner than the referee in 3 of 10 games"),
    ],
)
def test_player_that_sends_moves_without_a_search_or_disputes_scores_is_a_doubt(
    used: EngineUsage, doubt: str
) -> None:
    playoff = chess(sprt(0, 5), number_of_games=10)
    for number in range(10):
        job = playoff.next_job()
        usage = [EngineUsage(), EngineUsage()]
        usage[[player.code for player in job.players].index("a")] = used
        result = drawn(job)
        if number % 3 == 1:
            result = msgspec.structs.replace(result, usage=(usage[0], usage[1]))
        playoff.record_result(job.ticket, result)
    assert doubts(playoff) == [doubt]


def test_player_that_disputes_scores_against_itself_does_so_once_a_game() -> None:
    players = {"a": call("Player", "a")}
    matchups = [call("Matchup", "a", "a", number_of_games=4)]
    playoff = make("playoff", players=players, board_size=9, komi=6.5, matchups=matchups)
    disputing = EngineUsage(disputed=True)
    while (job := playoff.next_job()) is not None:
        result = msgspec.structs.replace(drawn(job), usage=(disputing, disputing))
        playoff.record_result(job.ticket, result)
    assert doubts(playoff) == ["a names another winner than the referee in 4 of 4 games"]


def test_one_fault_in_a_few_games_is_no_reason_to_doubt_them() -> None:
    playoff = chess(sprt(0, 5), number_of_games=10)
    play(playoff, "wd")
    assert doubts(playoff) == []
    playoff = chess(sprt(0, 5), number_of_games=10)
    for number in range(10):
        job = playoff.next_job()
        if number == 5:
            playoff.record_result(job.ticket, void(job, "b"))
        playoff.record_result(job.ticket, broken(job) if number == 7 else drawn(job))
    assert doubts(playoff) == []


def test_void_games_that_are_many_are_doubts_of_a_player() -> None:
    playoff = chess(sprt(0, 5), number_of_games=10)
    for number in range(10):
        job = playoff.next_job()
        if number % 3 == 1:
            playoff.record_result(job.ticket, void(job, "b"))
        playoff.record_result(job.ticket, drawn(job))
    assert doubts(playoff) == ["3 games replayed by the fault of b (3 crashes)"]


def test_limit_on_games_leaves_it_undecided() -> None:
    playoff = chess(sprt(0, 5), number_of_games=20)
    assert play(playoff, "wdl") == 20
    assert playoff.finished()
    assert told(playoff)["accepted"] is None


def test_half_pair_at_the_end_counts_for_the_score_only_which_is_warned_of() -> None:
    playoff = chess(sprt(0, 5), number_of_games=5)
    play(playoff, "w")
    assert playoff.tallies["0"].completed == 5
    assert told(playoff)["counts"] == [0, 0, 0, 0, 2]
    assert any("the last of 5 games is half a pair" in line for line in playoff.summary().warnings)


def test_games_are_counted_singly_where_colours_do_not_alternate() -> None:
    playoff = go(sprt())
    play(playoff, "wwl")
    assert len(trial(playoff).decision.counts) == 3
    assert any("moving first" in line for line in playoff.summary().warnings)
    assert len(trial(go(sprt(), alternating=True)).test.bounds) == 2
    assert trial(go(sprt(), alternating=True)).in_pairs
    assert not trial(go(sprt(pentanomial=False), alternating=True)).in_pairs


def test_game_without_a_result_is_half_a_point_and_a_void_one_is_nothing() -> None:
    playoff = chess(sprt(0, 5), number_of_games=4)
    one, two, three, four = (playoff.next_job() for _ in range(4))
    playoff.record_result(one.ticket, result(one, "w"))
    playoff.record_result(two.ticket, result(two, "u"))
    playoff.record_result(three.ticket, result(three, "v"))
    playoff.record_result(four.ticket, result(four, "l"))
    assert told(playoff)["counts"] == [0, 0, 0, 1, 0]
    playoff.record_result(three.ticket, result(three, "d"))
    assert told(playoff)["counts"] == [0, 1, 0, 1, 0]


@pytest.mark.parametrize("letters", ["d", "w", "l", "wl", "u", "du"])
def test_results_that_are_all_alike_come_to_an_end(letters: str) -> None:
    playoff = chess(sprt(0, 50, model="logistic"))
    play(playoff, letters)
    assert trial(playoff).decision.accepted == ("H1" if letters == "w" else "H0")


def test_opposite_hypotheses_without_a_limit_are_warned_of() -> None:
    assert any("draws alone never decide" in line for line in chess(sprt(-3, 3)).summary().warnings)
    assert not any("draws alone" in line for line in chess(sprt(-3, 3), 1000).summary().warnings)


def test_wider_bounds_continue_a_decided_matchup() -> None:
    playoff = chess(sprt())
    games = play(playoff, "wdwl")
    later = again(playoff, chess(sprt(alpha=0.001)))
    assert not later.finished()
    assert any(
        "it was H1 accepted, by the results so far it is undecided" in line
        for line in later.summary().warnings
    )
    job = later.next_job()
    assert job.ticket["i"] == games
    assert trial(later).decision is None
    later.record_result(job.ticket, won(job, "a"))
    play(later, "wdwl")
    assert trial(later).decision.llr >= later.matchups["0"].test.bounds[1] > 6


def test_players_that_change_places_are_tested_the_other_way_round() -> None:
    playoff = chess(sprt())
    play(playoff, "w")
    turned = make(
        "playoff",
        game="chess",
        players={"a": uci(), "b": uci()},
        matchups=[call("Matchup", "b", "a")],
        sprt=sprt(),
    )
    later = again(playoff, turned)
    assert told(later)["counts"] == told(playoff)["counts"][::-1]
    assert told(later)["accepted"] == "H0"


def test_results_after_the_stored_state_are_judged_alike_wherever_that_was() -> None:
    """A changed test judges all results at once."""
    letters = "wwwwwwwwwwllllllllll"
    states = []
    for stored_after in (0, 10, 20):
        playoff, played = chess(sprt(alpha=0.001, beta=0.001)), []
        state = playoff.state()
        for number, letter in enumerate(letters):
            job = playoff.next_job()
            playoff.record_result(job.ticket, result(job, letter))
            played.append((job.ticket, result(job, letter)))
            if number + 1 == stored_after:
                state, played = playoff.state(), []
        later = chess(sprt(alpha=0.3, beta=0.3))
        later.restore(msgspec.json.decode(msgspec.json.encode(state)))
        for ticket, result_ in played:
            later.record_result(ticket, result_)
        later.next_job()
        states.append(later.state())
    assert states[0] == states[1] == states[2]


def test_every_pairing_of_an_all_play_all_is_tested_by_itself() -> None:
    tournament = make(
        "allplayall",
        game="chess",
        players={code: uci() for code in "abc"},
        competitors=["a", "b", "c"],
        sprt=sprt(),
    )
    while (job := tournament.next_job()) is not None:
        codes = sorted(player.code for player in job.players)
        tournament.record_result(job.ticket, won(job, codes[0]))
    assert all(t.trial.decision.accepted == "H1" for t in tournament.tallies.values())


def test_one_matchup_can_have_a_test_of_its_own_or_none() -> None:
    playoff = make(
        "playoff",
        game="chess",
        players={"a": uci(), "b": uci()},
        matchups=[
            call("Matchup", "a", "b"),
            call("Matchup", "a", "b", sprt=None),
            call("Matchup", "a", "b", sprt=sprt(5, 10, model="logistic")),
        ],
        sprt=sprt(),
    )
    tests = [m.test for m in playoff.matchups.values()]
    assert tests == [Sprt(0, 100), None, Sprt(5, 10, model="logistic")]


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (call("SPRT", 5, 5), "sprt.elo1: elo1 = 5 is not above elo0 = 5"),
        (call("SPRT", 0, 5, alpha=0), "sprt.alpha: 0 is out of range"),
        (call("SPRT", 0, 5, beta=0.6), "sprt.beta: 0.6 is out of range"),
        (call("SPRT", 0, 900), "sprt.elo1: 900 is out of range"),
    ],
)
def test_wrong_test_is_refused_where_it_stands(test: Any, message: str) -> None:
    with pytest.raises(Refused) as refused:
        chess(test)
    assert message in str(refused.value)
