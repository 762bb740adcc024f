"""Verdicts: one sentence about the result so far, at every stage of every type."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.competitions import type_names
from ringmaster.competitions.matchup_sprt import Decision, SprtReport
from ringmaster.competitions.verdicts import MatchResult, leader_verdict, matches_verdict
from ringmaster.model.jobs import GameJob
from ringmaster.model.results import GameResult
from ringmaster.reporting.tables import render_report
from ringmaster.stats.elo import EloEstimate, from_games, from_pairs
from ringmaster.stats.sprt import Sprt
from tests.competitions.settings_of import AGAINST_OPPONENT, call, drawn, make, void, won
from tests.competitions.test_closing_match import spsa, tuned, verifying
from tests.competitions.test_interruptions import (
    SETTINGS,
    ce_parameter,
    chess,
    random_result,
)
from tests.competitions.texel.simulated import Runs, folder_fixture, texel
from tests.requirements import package

assert folder_fixture  # a fixture

ALL = {
    **SETTINGS,
    "handicap": lambda rng: (
        lambda: make(
            "playoff",
            players={code: call("Player", code) for code in "ab"},
            matchups=[call("Matchup", "a", "b", number_of_games=9, handicap=4)],
            board_size=9,
            komi=0.5,
        )
    ),
    "one challenger": lambda rng: (
        lambda: chess("gauntlet", challengers=["a"], opponents=["c", "d"], rounds=5)
    ),
    "spsa": lambda rng: lambda: spsa(verify=call("Verify", 12)),
    "spsa alone": lambda rng: lambda: spsa(),
    "verify": lambda rng: lambda: verifying(12),
}


#: "1 games", but not "21 games" and "1,001 games".
ONE_OF_SEVERAL = re.compile(
    r"(?<![\d,./-])1 (games|draws|wins|losses|iterations|trials|samples|passes|pairs|openings)\b"
)


def check_report(competition: Any) -> None:
    """Check the report, the live display and the charts."""
    charts = repr(competition.charts([]))
    for text in (render_report(competition.report()), render_report(competition.live_report())):
        for line in (*text.splitlines(), charts):
            assert not ONE_OF_SEVERAL.search(line)
            assert not re.search(r"LOS (100|0\.0|0 %)|100%.*LOS", line)
        assert "±" not in text or "95 %" in text


def check(verdict: str) -> None:
    assert verdict
    assert verdict == verdict.strip()
    assert "\n" not in verdict
    if "±" in verdict:
        assert "95 %" in verdict
    assert not re.search("LOS (100|0 %|0.0)", verdict)
    assert not ONE_OF_SEVERAL.search(verdict)
    assert not re.search(r"\d{4,} games", verdict), "counts have separators of thousands"
    assert len(verdict) <= 160


def stages(competition: Any, result: Callable[[GameJob], GameResult]) -> Iterator[str]:
    """Play up to 150 games, one at a time; yield the verdict before and after each."""
    yield competition.verdict()
    again: list[Any] = []
    for _ in range(150):
        job = again.pop() if again else competition.next_job()
        if job is None:
            return
        if competition.record_result(job.ticket, result(job)).replay:
            again.append(job)
        yield competition.verdict()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.optional] if n.startswith("optuna") else []) for n in ALL],
)
@hypothesis.settings(deadline=None, max_examples=10)
@given(st.randoms(use_true_random=False), st.sampled_from(["random", "wins", "draws"]))
def test_verdict_is_one_true_sentence_at_every_stage(
    name: str, rng: random.Random, kind: str
) -> None:
    if name == "optuna_tuner":
        package("optuna")
    competition = ALL[name](rng)()

    def result(job: GameJob) -> GameResult:
        if kind == "random" or (name.endswith("c_tuner") or name == "ce_tuner"):
            return random_result(rng, job)
        return won(job, min(p.code for p in job.players)) if kind == "wins" else drawn(job)

    for verdict in stages(competition, result):
        check(verdict)
        if kind == "draws":
            assert "better" not in verdict
    check_report(competition)


def test_every_type_has_verdicts_here() -> None:
    assert set(type_names()) <= {*ALL, "texel"}


@pytest.mark.slow
def test_verdict_of_a_texel_tune_is_a_sentence_at_every_stage(folder: Path) -> None:
    runs = Runs(lambda: texel(folder, verify=call("Verify", 4)))
    seen = [runs.event.verdict()]
    while runs.running:
        runs.step()
        seen.append(runs.event.verdict())
    for verdict in seen:
        check(verdict)
    assert seen[0] == "Tuning: 0 passes, probing the engine; gain not measured yet"
    assert re.match(r"Tuning: \d+ pass(es)?, pass \d+: \d/\d; gain not measured yet", seen[5])
    before = r"Tuned: the validation error fell by \S+ \(95 %: \S+ to \S+\); "
    assert any(re.match(before + "no game of the closing match yet", verdict) for verdict in seen)
    assert seen[-1].startswith("Tuned")


# one matchup

TEST = Sprt(0.0, 5.0)


def result(
    wins: int,
    draws: int,
    losses: int,
    *,
    limit: int | None = 20_000,
    finished: bool = False,
    sprt: SprtReport | None = None,
    players: tuple[str, str] = ("new", "old"),
) -> MatchResult:
    games = wins + draws + losses
    estimate = from_games(wins, draws, losses)
    points = wins + draws / 2
    return MatchResult(players, estimate, points, games, games, limit, finished, sprt)


def sprt(accepted: Any, games: int, test: Sprt = TEST, **settings: Any) -> SprtReport:
    decision = Decision(accepted, 2.95, [0, games, 0]) if accepted else None
    return SprtReport(test, ("new", "old"), (0, games, 0), 1.2, decision, **settings)


@pytest.mark.parametrize(
    ("match", "sentence"),
    [
        (result(0, 0, 0), "no result yet: new v old, after 0 of 20,000 games"),
        (result(2, 1, 0), "not decided yet: new v old 2.5-0.5, after 3 of 20,000 games; "
         "no Elo interval"),
        (result(0, 20, 0), "not decided yet: new v old 10-10, after 20 of 20,000 games; "
         "no Elo interval"),
        (result(0, 1, 0, limit=1, finished=True), "not decided: new v old 0.5-0.5, after 1 game; "
         "no Elo interval"),
        (result(120, 180, 112), "not decided yet: new over old +6.7 ± 25.2 Elo (95 %), LOS 70 %, "
         "after 412 of 20,000 games"),
        (result(120, 180, 112, finished=True), "not decided: new over old +6.7 ± 25.2 Elo (95 %), "
         "LOS 70 %, after 412 games"),
        (result(20, 0, 0, finished=True), "new is better: at least +277 Elo (95 %), "
         "LOS above 99.9 %, after 20 games"),
        (result(800, 400, 500), "new is better so far: +62.0 ± 14.6 Elo (95 %), LOS above 99.9 %, "
         "after 1,700 of 20,000 games"),
        (result(500, 400, 800, finished=True), "old is better: +62.0 ± 14.6 Elo (95 %), "
         "LOS above 99.9 %, after 1,700 games"),
        (result(334, 600, 270, sprt=sprt("H1", 1204)), "new is better: +18.5 ± 13.9 Elo (95 %), "
         "LOS 99.5 %, SPRT accepted H1 after 1,204 games"),
        (result(300, 600, 304, sprt=sprt("H0", 1204)), "new is not 5 nElo stronger than old: "
         "-1.2 ± 13.9 Elo (95 %), LOS 44 %, SPRT accepted H0 after 1,204 games"),
        (result(300, 600, 304, sprt=sprt("H1", 1204, Sprt(-5.0, 0.0))), "new is not 5 nElo weaker "
         "than old: -1.2 ± 13.9 Elo (95 %), LOS 44 %, SPRT accepted H1 after 1,204 games"),
        (result(270, 600, 334, sprt=sprt("H0", 1204)), "new is weaker: -18.5 ± 13.9 Elo (95 %), "
         "LOS 0.5 %, SPRT accepted H0 after 1,204 games"),
        (result(270, 600, 334, sprt=sprt("H1", 1204, Sprt(-20.0, 0.0))), "new is not 20 nElo "
         "weaker than old: -18.5 ± 13.9 Elo (95 %), LOS 0.5 %, SPRT accepted H1 after 1,204 games"),
        (result(5, 0, 0, limit=5, finished=True), "not decided: new v old 5-0, after 5 games; "
         "no Elo interval"),
        (result(5, 0, 0, sprt=sprt("H1", 5)), "new is better: 5-0, SPRT accepted H1 after 5 games"),
        (result(0, 0, 5, sprt=sprt("H0", 5)), "new is not 5 nElo stronger than old: 0-5, SPRT "
         "accepted H0 after 5 games"),
        (result(334, 600, 270, sprt=sprt("", 1204)), "not decided yet: new over old +18.5 ± 13.9 "
         "Elo (95 %), LOS 99.5 %, SPRT undecided (LLR 1.20) after 1,204 of 20,000 games"),
        (result(30, 0, 10, sprt=sprt("H1", 40, doubts=("20 of 40 games repeat",))),
         "new is better: +191 Elo (95 %: 82 to 353), LOS above 99.9 %, SPRT accepted H1 after "
         "40 games; see the warning"),
    ],
)  # fmt: skip
def test_verdict_of_one_matchup(match: MatchResult, sentence: str) -> None:
    assert matches_verdict([match]) == sentence
    check(sentence)


def test_eight_wins_in_four_pairs_decide_nothing_and_seven_and_a_half_do_neither() -> None:
    for counts, score in (([0, 0, 0, 0, 4], "8-0"), ([0, 0, 0, 1, 3], "7.5-0.5")):
        points = float(score.partition("-")[0])
        match = MatchResult(("a", "b"), from_pairs(counts), points, 8, 8, 8, True)
        assert match.sentence() == f"not decided: a v b {score}, after 8 games; no Elo interval"


def test_report_has_no_normalised_elo_where_the_elo_is_not_known() -> None:
    competition = chess("playoff", matchups=[call("Matchup", "a", "b", number_of_games=8)])
    outcomes = iter("wwwwwwwd")
    for _ in stages(
        competition, lambda job: won(job, "a") if next(outcomes) == "w" else drawn(job)
    ):
        pass
    text = render_report(competition.report())
    assert "a over b: Elo not known (" in text
    assert "nElo" not in text


def test_verdict_of_a_handicap_match_is_a_share_of_points() -> None:
    match = MatchResult(("a", "b"), None, 128, 210, 210, 400, False)
    assert match.sentence() == "a scores 61 % ± 7 (95 %) against b, after 210 of 400 games"


def test_unknown_results_alone_decide_nothing() -> None:
    match = MatchResult(("a", "b"), from_games(0, 0, 0), 0, 0, 3, 4, False)
    assert match.sentence() == "no known result: a v b, after 3 of 4 games"


# several matchups


def test_verdict_of_several_matchups_counts_the_decided_ones_and_names_the_clearest() -> None:
    clear = result(800, 400, 500, limit=1700, finished=True, players=("c", "d"))
    less = result(334, 600, 270, players=("e", "f"))
    open_ = result(120, 180, 112)
    none = result(0, 0, 0)
    assert matches_verdict([none, none]) == "no result yet in 2 matchups"
    assert matches_verdict([open_, none]) == (
        "none of 2 matchups decided yet; new over old +6.7 ± 25.2 Elo (95 %), LOS 70 %, "
        "after 412 of 20,000 games"
    )
    assert matches_verdict([none, less, clear, open_]) == (
        "2 of 4 matchups decided; c is better than d: +62.0 ± 14.6 Elo (95 %), LOS above 99.9 %, "
        "after 1,700 games"
    )
    assert matches_verdict([]) == "nothing to play: every matchup is switched off"


def test_verdict_of_several_matchups_has_the_name_of_the_clearest() -> None:
    competition = chess(
        "playoff",
        matchups=[
            call("Matchup", "a", "b", number_of_games=2),
            call("Matchup", "a", "b", id="long", name="a v b, long games", number_of_games=20),
        ],
    )
    *_, verdict = stages(
        competition,
        lambda job: won(job, "a") if job.id.startswith("long") else drawn(job),
    )
    assert verdict.startswith("1 of 2 matchups decided; a v b, long games: a is better than b: ")


# tournaments

LEAD, CLOSE = EloEstimate(35.2, 15.1, 55.3, 0.9997, 800), EloEstimate(1, -30, 32, 0.53, 400)


@pytest.mark.parametrize(
    ("leaders", "lead", "settings", "sentence"),
    [
        (["a"], None, {"games": 0}, "no result yet, after 0 of 600 games"),
        (["a"], None, {}, "a leads, not decided yet against b: no Elo interval, after 412 of 600 "
         "games"),
        (["a"], LEAD, {}, "a leads and is better than b so far: +35.2 ± 20.1 Elo (95 %), "
         "LOS above 99.9 %, after 412 of 600 games"),
        (["a"], LEAD, {"finished": True}, "a won and is better than b: +35.2 ± 20.1 Elo (95 %), "
         "LOS above 99.9 %, after 412 games"),
        (["a"], CLOSE, {"finished": True}, "a won, not decided against b: +1.0 ± 31.0 Elo (95 %), "
         "LOS 53 %, after 412 games"),
        (["a"], CLOSE, {"prior": True}, "a leads, not decided yet against b: +1.0 ± 31.0 Elo "
         "(95 %), LOS 53 %, with a weak prior, after 412 of 600 games"),
        (["a", "b"], CLOSE, {"finished": True}, "a and b share the first place; a over b: "
         "+1.0 ± 31.0 Elo (95 %), LOS 53 %, after 412 games"),
        (list("abcde"), CLOSE, {}, "5 players lead together; a over b: +1.0 ± 31.0 Elo (95 %), "
         "LOS 53 %, after 412 of 600 games"),
    ],
)  # fmt: skip
def test_verdict_of_a_tournament_names_the_leader(
    leaders: list[str], lead: EloEstimate | None, settings: dict[str, Any], sentence: str
) -> None:
    arguments = {"games": 412, "total": 600, "finished": False, **settings}
    assert leader_verdict(leaders, "b", lead, **arguments) == sentence
    check(sentence)


def first_wins(job: GameJob) -> GameResult:
    """The player with the first code in the alphabet wins."""
    return won(job, min(player.code for player in job.players))


@pytest.mark.parametrize(
    ("type_name", "settings"),
    [
        ("allplayall", {"competitors": list("abcd"), "rounds": 4}),
        ("swiss", {"competitors": list("abcde"), "rounds": 3}),
        # two groups that never meet
        ("swiss", {"competitors": list("abcd"), "rounds": 1}),
        ("swiss", {"competitors": list("abcd"), "rounds": 1, "anchor": ("d", 2000)}),
        ("gauntlet", {"challengers": ["a"], "opponents": list("cde"), "rounds": 4}),
    ],
)
def test_finished_tournament_always_has_ratings(type_name: str, settings: Any) -> None:
    for outcome in (first_wins, drawn):
        competition = chess(type_name, **settings)
        verdict = list(stages(competition, outcome))[-1]
        assert competition.finished()
        text = render_report(competition.report())
        assert "± (95 %)" in text
        assert "no ratings" not in text
        summary = competition.summary()
        assert all(row["elo"] is not None for row in summary["ratings"])
        if outcome is first_wins:
            assert summary["ratings_prior"] is not None
            assert "with a weak prior" in text
            assert re.match("a won|a is better than the field|a and b share", verdict)
            assert not re.search(r"\b(100|0)%", str(competition._standings().los_table()))


def test_anchor_without_a_result_leaves_ratings_above_the_average() -> None:
    settings = {"competitors": list("abc"), "rounds": 4, "withdrawn": ["c"], "anchor": ("c", 2000)}
    competition = chess("allplayall", **settings)
    list(stages(competition, first_wins))
    text = render_report(competition.report())
    assert competition.finished()
    assert "Elo above the average of all" in text
    assert "c, the anchor, has no result" in text


def test_verdict_on_one_challenger_is_against_the_field() -> None:
    competition = chess("gauntlet", challengers=["a"], opponents=["c", "d"], rounds=6)
    verdicts = list(stages(competition, first_wins))
    assert verdicts[0] == "no result yet: a v the field, after 0 of 12 games"
    assert verdicts[-1] == (
        "a is better than the field: at least +28 Elo (95 %), LOS 99.2 %, after 12 games"
    )


# tunes


def test_win_of_a_tune_is_claimed_from_its_closing_match_only() -> None:
    tune = tuned(verify=call("Verify", 40))
    assert tune.verdict() == ("Tuned: iteration 2 of 2, 4 games; no game of the closing match yet")
    lucky = iter("wwwdwwlwww" * 4)

    def outcome(job: GameJob) -> GameResult:
        letter = next(lucky)
        return drawn(job) if letter == "d" else won(job, "e:tuned" if letter == "w" else "e:start")

    verdicts = list(stages(tune, outcome))
    assert (
        verdicts[2]
        == "Tuned; closing match 2-0 against start, after 2 of 40 games; no Elo interval"
    )
    assert verdicts[20] == (
        "Tuned; closing match: +301 Elo (95 %: 140 to 629), LOS above 99.9 %, over start, "
        "after 20 of 40 games"
    )
    assert verdicts[-1] == (
        "Tuned: +301 Elo (95 %: 202 to 471) over start; "
        "next: ringmaster event.ctl export-parameters"
    )


def test_tune_without_a_gain_claims_none() -> None:
    tune = tuned(verify=call("Verify", 12))
    sides = iter(["e:tuned", "e:tuned", "e:start", "e:start"] * 3)
    assert list(stages(tune, lambda job: won(job, next(sides))))[-1] == (
        "Tuned, but no gain shown: +0 ± 382 Elo (95 %) over start, after 12 games; "
        "next: ringmaster event.ctl verify --games 24"
    )
    tune = tuned(verify=call("Verify", 16))
    assert list(stages(tune, lambda job: won(job, "e:start")))[-1] == (
        "Tuned, but weaker: at most -93 Elo (95 %) over start, after 16 games; "
        "keep the start values"
    )


def test_tune_without_a_closing_match_names_the_command_for_one() -> None:
    assert tuned().verdict() == (
        "Tuned: iteration 2 of 2, 4 games; gain not measured; next: ringmaster event.ctl verify"
    )


def test_match_against_a_player_shows_no_gain_over_the_start() -> None:
    players = {"e": call("Player", "e", nodes=1), "o": call("Player", "o", nodes=1)}
    tune = tuned(players=players, verify=call("Verify", 16, against="o"))
    assert list(stages(tune, lambda job: won(job, "e:tuned")))[-1] == (
        "Tuned: at least +93 Elo (95 %) over o, after 16 games; gain over start not measured"
    )


def test_verify_in_the_middle_of_a_tune_does_not_call_it_tuned() -> None:
    assert verifying(12).verdict() == (
        "Tuning: iteration 0 of 10, 0 games; the start values so far"
    )
    tune = spsa()
    for _ in range(4):
        job = tune.next_job()
        tune.record_result(job.ticket, won(job, "e+"))
    tune.verify(16)
    verdicts = list(stages(tune, lambda job: won(job, "e:tuned")))
    assert verdicts[0] == ("Tuning: iteration 2 of 10, 4 games; no game of the closing match yet")
    assert verdicts[-1] == (
        "Tuned so far: at least +93 Elo (95 %) over start; "
        "next: ringmaster event.ctl export-parameters"
    )


def test_bandit_names_its_best_candidate_with_an_interval() -> None:
    tune = make(
        "mc_tuner",
        **AGAINST_OPPONENT,
        parameters=[
            call("Parameter", "level", scale=call("LINEAR", 0, 8), split=2, format="Level %d")
        ],
        exploration_coefficient=0.4,
        initial_visits=2,
        initial_wins=1,
        number_of_games=40,
    )

    def outcome(job: GameJob) -> GameResult:
        seat = job.ticket["s"]
        winner = seat if job.ticket["p"] == [1] else 1 - seat
        return GameResult(job.id, job.attempt, "win", winner=winner, reason="score", score="B+1")

    verdicts = list(stages(tune, outcome))
    assert verdicts[0] == "no win yet of 2 candidates, after 0 of 40 games"
    assert verdicts[20].startswith("Level 6 is best so far: ")
    assert verdicts[-1] == "Level 6 came out best: 100 % (95 %: 91 to 100) of 40 games"


def test_cross_entropy_tune_says_its_generation_and_mean() -> None:
    tune = make(
        "ce_tuner",
        **AGAINST_OPPONENT,
        parameters=[ce_parameter("x")],
        number_of_generations=2,
        samples_per_generation=3,
        batch_size=2,
        elite_proportion=0.4,
        step_size=0.8,
    )
    verdicts = list(stages(tune, lambda job: drawn(job)))
    assert verdicts[0] == "no result yet: generation 1 of 2"
    assert verdicts[1] == "Tuning: generation 1 of 2, 1 game; mean so far: x: 0.5"
    assert re.fullmatch(
        r"Tuned: x: -?\d\.\d+, mean after 2 generations, 12 games; strength not measured",
        verdicts[-1],
    )


def test_many_parameters_are_not_listed_in_a_verdict() -> None:
    tune = make(
        "ce_tuner",
        **AGAINST_OPPONENT,
        parameters=[ce_parameter(f"parameter{i}") for i in range(20)],
        number_of_generations=1,
        samples_per_generation=1,
        batch_size=1,
        elite_proportion=1,
        step_size=1,
    )
    assert list(stages(tune, drawn))[-1] == (
        "Tuned: 20 parameter values, mean after 1 generation, 1 game; strength not measured"
    )


def test_first_game_of_a_gauntlet_lets_no_challenger_lead() -> None:
    competition = chess("gauntlet", challengers=["a", "b"], opponents=["c", "d"], rounds=4)
    job = competition.next_job()
    competition.record_result(job.ticket, won(job, "c"))
    assert (
        competition.verdict() == "not decided yet: a v the field 0-1, after 1 game; no Elo interval"
    )


def test_bandit_without_a_win_says_so_at_its_end() -> None:
    tune = make(
        "mc_tuner",
        **AGAINST_OPPONENT,
        parameters=[call("Parameter", "x", scale=call("LINEAR", 0, 8), split=2, format="%d")],
        exploration_coefficient=0.4,
        initial_visits=2,
        initial_wins=1,
        number_of_games=4,
    )

    def outcome(job: GameJob) -> GameResult:
        winner = 1 - job.ticket["s"]
        return GameResult(job.id, job.attempt, "win", winner=winner, reason="score", score="B+1")

    assert list(stages(tune, outcome))[-1] == "no win of 2 candidates, after 4 games"


def test_closing_match_with_too_few_games_names_the_command_for_more() -> None:
    tune = tuned(verify=call("Verify", 8))
    assert list(stages(tune, lambda job: won(job, "e:tuned")))[-1] == (
        "Tuned; closing match 8-0 against start, after 8 games; no Elo interval; "
        "next: ringmaster event.ctl verify --games 16"
    )


def test_void_games_are_no_result() -> None:
    competition = chess("playoff", matchups=[call("Matchup", "a", "b", number_of_games=4)])
    job = competition.next_job()
    competition.record_result(job.ticket, void(job))
    assert competition.verdict() == "no result yet: a v b, after 0 of 4 games"
