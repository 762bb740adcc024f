"""Verdicts: one sentence about the result so far, at every stage of every type."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator
from itertools import islice
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
from ringmaster.stats.elo import EloEstimate, from_counts, from_games
from ringmaster.stats.sprt import Sprt
from tests.competitions.golden import check_golden
from tests.competitions.settings_of import AGAINST_OPPONENT, call, drawn, make, void, won
from tests.competitions.test_closing_match import spsa, tuned, verifying
from tests.competitions.test_interruptions import (
    SETTINGS,
    ce_parameter,
    chess,
    random_result,
)
from tests.competitions.texel.simulated import folder_fixture
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
    for text in (
        render_report(competition.summary().report),
        render_report(competition.summary(live=True).report),
    ):
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
    assert len(verdict.partition("; doubtful: ")[0]) <= 160


def stages(
    competition: Any, result: Callable[[GameJob], GameResult], games: int = 150
) -> Iterator[str]:
    """Play up to so many games, one at a time; yield the verdict before and after each."""
    yield competition.summary().verdict
    again: list[Any] = []
    for _ in range(games):
        job = again.pop() if again else competition.next_job()
        if job is None:
            return
        if competition.record_result(job.ticket, result(job)).replay:
            again.append(job)
        yield competition.summary().verdict


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

    # every verdict of this type fits its estimates anew
    games = 50 if name == "optuna_tuner" else 150
    for verdict in stages(competition, result, games):
        check(verdict)
        if kind == "draws":
            assert "better" not in verdict
    check_report(competition)


def test_every_type_has_verdicts_here() -> None:
    assert set(type_names()) <= {*ALL, "texel"}


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
    decision = Decision(2.95, [0, games, 0], accepted) if accepted else None
    return SprtReport(test, ("new", "old"), (0, games, 0), 1.2, decision, **settings)


MATCHES = [
    result(0, 0, 0),
    result(2, 1, 0),
    result(0, 20, 0),
    result(0, 1, 0, limit=1, finished=True),
    result(120, 180, 112),
    result(120, 180, 112, finished=True),
    result(20, 0, 0, finished=True),
    result(800, 400, 500),
    result(500, 400, 800, finished=True),
    result(334, 600, 270, sprt=sprt("H1", 1204)),
    result(300, 600, 304, sprt=sprt("H0", 1204)),
    result(300, 600, 304, sprt=sprt("H1", 1204, Sprt(-5.0, 0.0))),
    result(270, 600, 334, sprt=sprt("H0", 1204)),
    result(270, 600, 334, sprt=sprt("H1", 1204, Sprt(-20.0, 0.0))),
    result(5, 0, 0, limit=5, finished=True),
    result(5, 0, 0, sprt=sprt("H1", 5)),
    result(0, 0, 5, sprt=sprt("H0", 5)),
    result(334, 600, 270, sprt=sprt("", 1204)),
    result(30, 0, 10, sprt=sprt("H1", 40)),
    # a handicap match
    MatchResult(("a", "b"), None, 128, 210, 210, 400, False, terms="as Black"),
    # unknown results alone
    MatchResult(("a", "b"), from_games(0, 0, 0), 0, 0, 3, 4, False),
]


def test_eight_wins_in_four_pairs_decide_nothing_and_seven_and_a_half_do_neither() -> None:
    for counts, score in (([0, 0, 0, 0, 4], "8-0"), ([0, 0, 0, 1, 3], "7.5-0.5")):
        points = float(score.partition("-")[0])
        match = MatchResult(("a", "b"), from_counts(counts), points, 8, 8, 8, True)
        assert match.sentence() == f"not decided: a v b {score}, after 8 games; no Elo interval"


# several matchups


CLEAR = result(800, 400, 500, limit=1700, finished=True, players=("c", "d"))
SEVERAL = [
    [],
    [MATCHES[0]] * 2,
    [MATCHES[4], MATCHES[0]],
    [MATCHES[0], result(334, 600, 270, players=("e", "f")), CLEAR, MATCHES[4]],
]


# tournaments

LEAD, CLOSE = EloEstimate(35.2, 15.1, 55.3, 0.9997, 800), EloEstimate(1, -30, 32, 0.53, 400)


LEADERS: list[tuple[list[str], EloEstimate | None, dict[str, Any]]] = [
    (["a"], None, {"games": 0}),
    (["a"], None, {}),
    (["a"], LEAD, {}),
    (["a"], LEAD, {"finished": True}),
    # the first of many by chance
    (["a"], LEAD, {"finished": True, "rivals": 200}),
    (["a"], CLOSE, {"finished": True}),
    (["a"], CLOSE, {"prior": True}),
    (["a", "b"], CLOSE, {"finished": True}),
    (list("abcde"), CLOSE, {}),
]


def test_many_matchups_of_equal_players_decide_nothing() -> None:
    rng = random.Random(3)
    decided, wrong = 0, 0
    for _ in range(40):
        results = []
        for _ in range(60):
            wins = sum(rng.random() < 0.5 for _ in range(40))
            results.append(result(wins, 0, 40 - wins, limit=40, finished=True))
        wrong += sum(match.sign != 0 for match in results)
        decided += not matches_verdict(results).startswith("none of 60 matchups decided")
    assert wrong > 40  # 5 % of single matchups
    assert decided <= 4


def test_sentences_of_verdicts() -> None:
    lines = [matches_verdict([match]) for match in MATCHES]
    lines += map(matches_verdict, SEVERAL)
    for leaders, lead, settings in LEADERS:
        arguments = {"games": 412, "total": 600, "finished": False, "rivals": 1, **settings}
        lines.append(leader_verdict(leaders, "b", lead, **arguments))
    for line in lines:
        check(line)
    check_golden("verdicts", "\n".join(lines))


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
        text = render_report(competition.summary().report)
        assert "± (95 %)" in text
        assert "no ratings" not in text
        summary = competition.summary().data()
        assert all(row["elo"] is not None for row in summary["ratings"])
        if outcome is first_wins:
            assert summary["ratings_prior"] is not None
            assert "with a weak prior" in text
            assert re.match("a won|a is better than the field|a and b share", verdict)
            assert not re.search(r"\b(100|0)%", str(competition._standings.los_table()))


# tunes


def wins_of(*codes: str) -> Callable[[GameJob], GameResult]:
    """Return results in a cycle: a win of a player by the end of its code, "" for a draw."""
    following = itertools.cycle(codes)

    def outcome(job: GameJob) -> GameResult:
        code = next(following)
        own = next((p.code for p in job.players if code and p.code.endswith(code)), None)
        return drawn(job) if own is None else won(job, own)

    return outcome


def begun() -> Any:
    """Return a tune that `verify` interrupts after two iterations."""
    tune = spsa()
    for _ in range(4):
        job = tune.next_job()
        tune.record_result(job.ticket, won(job, "e+"))
    tune.verify(16)
    return tune


def parameters_of_ce(count: int, **settings: Any) -> Any:
    usual = {"number_of_generations": 1, "samples_per_generation": 1, "batch_size": 1}
    return make(
        "ce_tuner",
        **AGAINST_OPPONENT,
        parameters=[ce_parameter(f"parameter{i}") for i in range(count)],
        elite_proportion=0.4,
        step_size=0.8,
        **{**usual, **settings},
    )


def bandit(games: int) -> Any:
    scale = call("LINEAR", 0, 8)
    return make(
        "mc_tuner",
        **AGAINST_OPPONENT,
        parameters=[call("Parameter", "level", scale=scale, split=2, format="Level %d")],
        exploration_coefficient=0.4,
        initial_visits=2,
        initial_wins=1,
        number_of_games=games,
    )


def higher_level(job: GameJob) -> GameResult:
    seat = job.ticket["s"]
    return won(job, job.players[seat if job.ticket["p"] == [1] else 1 - seat].code)


OPPONENT = {"e": call("Player", "e", nodes=1), "o": call("Player", "o", nodes=1)}
LUCK = ("tuned", "tuned", "tuned", "", "tuned", "tuned", "start", "tuned", "tuned", "tuned")


def stories() -> dict[str, tuple[Any, Callable[[GameJob], GameResult]]]:
    """Return competitions with their results."""
    return {
        "gain of a closing match": (tuned(verify=call("Verify", 40)), wins_of(*LUCK)),
        "no gain": (tuned(verify=call("Verify", 12)), wins_of("tuned", "tuned", "start", "start")),
        "loss": (tuned(verify=call("Verify", 16)), wins_of("start")),
        "too few games": (tuned(verify=call("Verify", 8)), wins_of("tuned")),
        "no closing match": (tuned(), wins_of("tuned")),
        "against a player": (
            tuned(players=OPPONENT, verify=call("Verify", 16, against="o")),
            wins_of("tuned"),
        ),
        "verified before the first iteration": (verifying(12), wins_of("tuned")),
        "verified in the middle": (begun(), wins_of("tuned")),
        "bandit": (bandit(40), higher_level),
        "bandit without a win": (
            bandit(4),
            lambda job: won(job, job.players[1 - job.ticket["s"]].code),
        ),
        "cross entropy": (parameters_of_ce(1, number_of_generations=2, batch_size=2), drawn),
        "many parameters": (parameters_of_ce(20), drawn),
        "one challenger": (
            chess("gauntlet", challengers=["a"], opponents=["c", "d"], rounds=6),
            first_wins,
        ),
        "two challengers": (
            chess("gauntlet", challengers=["a", "b"], opponents=["c", "d"], rounds=4),
            wins_of("c"),
        ),
        "void games": (chess("playoff", matchups=[call("Matchup", "a", "b")]), void),
    }


def test_verdicts_in_the_course_of_competitions() -> None:
    lines = []
    for name, (competition, outcome) in stories().items():
        verdicts = [*islice(stages(competition, outcome), 41)]
        lines.append(f"===== {name} =====")
        for number in sorted({0, 1, 2, 20, len(verdicts) - 1}):
            if number < len(verdicts):
                check(verdicts[number])
                lines.append(f"{number}: {verdicts[number]}")
    check_golden("verdict_stories", "\n".join(lines))
