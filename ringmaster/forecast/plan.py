"""The action `plan`: what the settings of a tune will lead to, and what in them would
waste it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ringmaster.competitions.spsa.competition import SpsaCompetition
from ringmaster.event import Event
from ringmaster.forecast.assumptions import (
    Assumptions,
    Given,
    Measured,
    assume,
    make_players,
    make_tune,
    measured,
    spsa_of,
)
from ringmaster.forecast.simulate import error_of_mean
from ringmaster.forecast.warnings import Wastes, wastes
from ringmaster.model.report import Cell, Report, Table, Text
from ringmaster.reporting.tables import render_report
from ringmaster.reporting.text import folded
from ringmaster.tuners.simulation import Course, simulate
from ringmaster.tuners.spsa import Array, GainMethod
from ringmaster.tuners.spsa.planning import Outlook, games_to_halve_loss, outlook

#: Replicates of the simulation that stands in for formulas, and games of all together
#: at most: some seconds.
_REPLICATES, _FEWEST, _MOST_GAMES = 40, 8, 8_000_000


@dataclass(frozen=True, eq=False)
class Plan:
    """All that is known of a tune before it.

    outlook  with gain sequences, else None
    course   of a short simulation, None where the formulas do, or it would be too long
    halving  without gain sequences the games that halve what each parameter loses, (n,)
    """

    competition: SpsaCompetition
    assumed: Assumptions
    known: Measured
    seconds: float | None
    parallel: int
    outlook: Outlook | None
    course: Course | None
    halving: Array | None
    warnings: tuple[str, ...]

    @property
    def games(self) -> int:
        """Games of the tune."""
        return self.competition.iterations * self.competition.tuner.counting.games_per_iteration

    @property
    def hours(self) -> float | None:
        """How long they take, None where no game has been timed."""
        return None if self.seconds is None else self.games * self.seconds / self.parallel / 3600


@dataclass(frozen=True, kw_only=True)
class GivenForPlan(Given):
    """What is given of a plan.

    seconds_per_game  None: as measured
    """

    seconds_per_game: float | None = None


def run(given: GivenForPlan, event: Event) -> tuple[Callable[[], str], dict[str, Any]]:
    """Plan; returns what makes the text, and the data of --json.

    Raises UsageError, StoreError.
    """
    plan = make_plan(given, event)
    return lambda: render_report(_report(event.code, plan)), plan_data(event.code, plan)


def make_plan(given: GivenForPlan, event: Event) -> Plan:
    """Return the plan of an event.  Raises UsageError, StoreError."""
    competition = spsa_of(event)
    known = measured(event)
    assumed = assume(given, competition, known)
    tuner = competition.tuner
    found, course, halving = None, None, None
    if isinstance(tuner.method, GainMethod):
        found = outlook(
            tuner.space,
            tuner.method.gains,
            tuner.counting,
            competition.iterations,
            elo=assumed.elo,
            lost_at_start=assumed.lost_at_start(),
            draw_ratio=assumed.draw_ratio,
            reference=competition.pairing == "reference",
        )
    else:
        halving = games_to_halve_loss(
            tuner.space,
            tuner.method.c(1, tuner.method.start()),
            elo=assumed.elo,
            lost_at_start=assumed.lost_at_start(),
            draw_ratio=assumed.draw_ratio,
            reference=competition.pairing == "reference",
        )
        games = competition.iterations * tuner.counting.games_per_iteration
        replicates = min(_REPLICATES, _MOST_GAMES // (games * max(1, len(tuner.space) // 8)))
        if replicates >= _FEWEST:
            course = simulate(
                make_tune(competition, assumed.concurrency),
                make_players(assumed),
                replicates,
                seed=given.seed,
            )
    lost = None if course is None else float(course.estimate[-1].mean())
    seconds = given.seconds_per_game or known.seconds
    warnings = wastes(Wastes(competition, assumed, found, lost, halving))
    return Plan(
        competition,
        assumed,
        known,
        seconds,
        given.parallel,
        found,
        course,
        halving,
        tuple(warnings),
    )


def plan_data(code: str, plan: Plan) -> dict[str, Any]:
    """Return a plan as JSON data; numbers that are not finite are None."""
    competition, found = plan.competition, plan.outlook
    parameters: list[dict[str, Any]] = []
    start = plan.assumed.lost_at_start().tolist()
    for i, parameter in enumerate(competition.tuned):
        entry: dict[str, Any] = {
            "code": parameter.code,
            "start": parameter.start,
            "elo_at_half_range": float(plan.assumed.elo[i]),
            "lost_at_start": start[i],
        }
        if found is not None:
            entry.update({name: _finite(value[i]) for name, value in vars(found).items()})
        if plan.halving is not None:
            entry["games_to_halve_loss"] = _finite(plan.halving[i])
        parameters.append(entry)
    total: dict[str, Any] = {"lost_at_start": float(sum(start))}
    if found is not None:
        total |= {
            "lost_at_end": float(found.lost_at_end.sum()),
            "noise": float(found.noise.sum()),
        }
    elif plan.course is not None:
        total |= {
            "lost_at_end": float(plan.course.estimate[-1].mean()),
            "simulated": len(plan.course.start),
        }
    return {
        "competition": code,
        "games": plan.games,
        "iterations": competition.iterations,
        "games_per_iteration": competition.tuner.counting.games_per_iteration,
        "assumed": list(plan.assumed.lines),
        "parameters": parameters,
        "all": total,
        "seconds_per_game": plan.seconds,
        "parallel": plan.parallel,
        "hours": plan.hours,
        "warnings": list(plan.warnings),
    }


def _finite(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None


def _report(code: str, plan: Plan) -> Report:
    competition, found = plan.competition, plan.outlook
    size = competition.tuner.counting.games_per_iteration
    versus = "the opponent" if competition.pairing == "reference" else "each other"
    head = [
        f"plan of {code}: {plan.games:,} games, {competition.iterations:,} iterations of {size}; "
        f"both sides play {versus}",
        *(f"  assumed: {line}" for line in plan.assumed.lines),
    ]
    tables = [_plain_table(plan)] if found is None else _gains_tables(plan, found)
    blocks: list[Table | Text] = [Text(folded(head)), *tables, Text(folded(_outcome(plan)))]
    if plan.warnings:
        blocks.append(Text(folded([f"warning: {line}" for line in plan.warnings])))
    return Report(tuple(blocks))


def _gains_tables(plan: Plan, found: Outlook) -> list[Table | Text]:
    """Return the gain sequences and what they lead to: two tables, since one would be
    too wide."""
    gains: list[tuple[Cell, ...]] = []
    losses: list[tuple[Cell, ...]] = []
    for i, parameter in enumerate(plan.competition.tuned):
        lasts = plan.games / found.time_constant[i]
        gains.append(
            (
                parameter.code,
                f"{found.c_first[i]:.4g}",
                f"{found.c_last[i]:.4g}",
                f"{found.r_first[i]:.3g}",
                f"{found.r_last[i]:.3g}",
                _count(found.time_constant[i]),
                f"{lasts:.3g}",
            )
        )
        losses.append(
            (
                parameter.code,
                f"{found.lost_at_start[i]:.3f}",
                f"{found.lost_at_end[i]:.3f}",
                f"{found.noise[i]:.3f}",
            )
        )
    sums = (found.lost_at_start, found.lost_at_end, found.noise)
    losses.append(("all", *(f"{float(s.sum()):.3f}" for s in sums)))
    return [
        Table(
            ("parameter", "c first", "c last", "R first", "R last", "λ (games)", "games/λ"),
            tuple(gains),
            notes=("λ: the time constant with the last c and R",),
        ),
        Table(
            ("parameter", "lost at start", "at end", "of it noise"),
            tuple(losses),
            notes=(
                "lost: expected Elo below the optimum, at the end of the last θ",
                "noise: what the loss tends to with the last R, C·(1 − draws)·R/8 (v an opponent",
                "  twice that); the mean of the last half has less of it",
            ),
        ),
    ]


def _count(games: float) -> str:
    return f"{round(float(games)):,}" if games < 1e15 else "∞"


def _plain_table(plan: Plan) -> Table:
    rows = []
    memory = plan.competition.tuner.method.start()
    c = plan.competition.tuner.method.c(1, memory)
    lost = plan.assumed.lost_at_start()
    for i, parameter in enumerate(plan.competition.tuned):
        games = "∞" if plan.halving is None else _count(plan.halving[i])
        rows.append((parameter.code, f"{c[i]:.4g}", f"{lost[i]:.3f}", games))
    return Table(
        ("parameter", "c first", "lost at start", "games to halve it"),
        (*rows, ("all", None, f"{float(lost.sum()):.3f}", None)),
        notes=("lost: expected Elo below the optimum",),
    )


def _outcome(plan: Plan) -> list[str]:
    """Return what will be left, and how long it takes."""
    lines = []
    if plan.course is not None:
        left = plan.course.estimate[-1]
        lines.append(
            f"expected loss at the end: {float(left.mean()):.3f} ± {error_of_mean(left):.3f} Elo "
            f"(95 %), by {len(left)} simulated tunes (`simulate` shows more)"
        )
    elif plan.outlook is None:
        lines.append("the method has no formula, and the tune is too long to be simulated here")
    if plan.hours is None:
        lines.append("no game has been timed yet; --seconds-per-game tells how long it takes")
    else:
        source = "" if plan.known.seconds != plan.seconds else f" (last {plan.known.games} games)"
        lines.append(
            f"{plan.games:,} games of {plan.seconds:.3g} s{source}, {plan.parallel} at a time: "
            f"{duration(plan.hours)}"
        )
    return lines


def duration(hours: float) -> str:
    """Return a time in words."""
    if hours < 1:
        return f"{60 * hours:.1f} minutes"
    return f"{hours:.1f} hours" if hours < 48 else f"{hours / 24:.1f} days"
