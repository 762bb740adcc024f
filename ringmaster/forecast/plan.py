"""The action `plan`: expectations of a tune by its settings, and warnings of settings that
would waste its games."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from ringmaster.competitions.result_lines import finite
from ringmaster.competitions.spsa.competition import SpsaCompetition
from ringmaster.competitions.tuning.parameter_settings import scale_advice
from ringmaster.errors import counted
from ringmaster.forecast.assumptions import (
    Assumptions,
    ForecastOptions,
    Measured,
    assume,
    games_of,
    make_players,
    make_tune,
    measured,
    spsa_of,
)
from ringmaster.forecast.simulate import error_of_mean
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.report import LEFT, Column, Listing, Report, Table, Text
from ringmaster.reporting.progress import format_duration
from ringmaster.reporting.tables import render_report
from ringmaster.reporting.text import folded
from ringmaster.tuners.simulation import SimulatedCourse, simulate
from ringmaster.tuners.space import Array
from ringmaster.tuners.spsa.method import GainMethod
from ringmaster.tuners.spsa.planning import Outlook, games_to_halve_loss, outlook

#: Replicates of the simulation where formulas are missing, and its most games: some
#: seconds.
_REPLICATES, _FEWEST, _MOST_GAMES = 40, 8, 8_000_000


@dataclass(frozen=True, eq=False)
class Plan:
    """Expectations of a tune before its first game.

    outlook  of a method with gain sequences, else None
    course   of a short simulation; None if formulas suffice or it would take too long
    halving  of other methods: games that halve the loss of each parameter, (n,)
    """

    competition: SpsaCompetition
    assumed: Assumptions
    known: Measured
    seconds: float | None
    parallel: int
    outlook: Outlook | None
    course: SimulatedCourse | None
    halving: Array | None

    @property
    def games(self) -> int:
        """Games of the tune."""
        return games_of(self.competition)

    @property
    def hours(self) -> float | None:
        """Their duration, None if no game has been timed."""
        return None if self.seconds is None else self.games * self.seconds / self.parallel / 3600

    @property
    def lost_at_end(self) -> float | None:
        """Expected Elo loss of all parameters at the end, None if it is unknown."""
        if self.outlook is not None:
            return float(self.outlook.lost_at_end.sum())
        return None if self.course is None else float(self.course.estimate[-1].mean())


@dataclass(frozen=True, kw_only=True)
class PlanOptions(ForecastOptions):
    """Options of `plan`.

    seconds_per_game  None: as measured
    """

    seconds_per_game: float | None = None


def run(
    options: PlanOptions, loaded: LoadedCompetition
) -> tuple[Callable[[], str], dict[str, Any]]:
    """Plan a tune; return a function that renders the text, and the data of --json.

    Raises UsageError, StoreError.
    """
    plan = make_plan(options, loaded)
    return lambda: render_report(_report(loaded.code, plan)), plan_data(loaded.code, plan)


def make_plan(options: PlanOptions, loaded: LoadedCompetition) -> Plan:
    """Return the plan of a competition.  Raises UsageError, StoreError."""
    competition = spsa_of(loaded)
    known = measured(loaded)
    assumed = assume(options, competition, known)
    tuner = competition.tuner
    expected, course, halving = None, None, None
    conditions: dict[str, Any] = {
        "elo": assumed.elo,
        "lost_at_start": assumed.lost_at_start(),
        "draw_ratio": assumed.draw_ratio,
        "reference": competition.pairing == "reference",
    }
    if isinstance(tuner.method, GainMethod):
        gains, iterations = tuner.method.gains, competition.iterations
        expected = outlook(tuner.space, gains, tuner.counting, iterations, **conditions)
    else:
        halving = games_to_halve_loss(tuner.space, tuner.method.reach(), **conditions)
        games = games_of(competition) * max(1, len(tuner.space) // 8)
        replicates = min(_REPLICATES, _MOST_GAMES // games)
        if replicates >= _FEWEST:
            course = simulate(
                make_tune(competition, assumed.concurrency),
                make_players(assumed),
                replicates,
                seed=options.seed,
            )
    seconds = options.seconds_per_game or known.seconds
    return Plan(competition, assumed, known, seconds, options.parallel, expected, course, halving)


def plan_data(code: str, plan: Plan) -> dict[str, Any]:
    """Return a plan as JSON data; infinite numbers are None."""
    rows = _rows(plan)
    total = {name: value for name, value in _total(rows).items() if name != "code"}
    if plan.course is not None:
        total["lost_at_end"] = plan.lost_at_end
        total["simulated"] = len(plan.course.start)
    return {
        "competition": code,
        "games": plan.games,
        "iterations": plan.competition.iterations,
        "games_per_iteration": plan.competition.tuner.counting.games_per_iteration,
        "assumed": list(plan.assumed.lines),
        "parameters": [
            {name: value if name == "code" else finite(value) for name, value in row.items()}
            for row in rows
        ],
        "all": total,
        "seconds_per_game": plan.seconds,
        "parallel": plan.parallel,
        "hours": plan.hours,
        "warnings": Warnings(plan).lines(),
    }


def _rows(plan: Plan) -> list[dict[str, Any]]:
    """Return the expectations for each parameter."""
    method = plan.competition.tuner.method
    if plan.outlook is not None:
        columns = vars(plan.outlook)
    else:
        assert plan.halving is not None
        columns = {
            "c_most": method.reach() * method.space.rate(method.space.start),
            "lost_at_start": plan.assumed.lost_at_start(),
            "games_to_halve_loss": plan.halving,
        }
    columns = {"elo_at_half_range": plan.assumed.elo, **columns}
    return [
        {
            "code": parameter.code,
            "start": parameter.start,
            **{name: float(values[i]) for name, values in columns.items()},
        }
        for i, parameter in enumerate(plan.competition.tuned)
    ]


def _total(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the row of all parameters together."""
    names = [name for name in ("lost_at_start", "lost_at_end", "noise") if name in rows[0]]
    return {"code": "all", **{name: sum(row[name] for row in rows) for name in names}}


def _report(code: str, plan: Plan) -> Report:
    competition = plan.competition
    size = competition.tuner.counting.games_per_iteration
    versus = "the opponent" if competition.pairing == "reference" else "each other"
    head = [
        f"plan of {code}: {counted(plan.games, 'game')}, "
        f"{counted(competition.iterations, 'iteration')} of {size}; "
        f"both sides play {versus}",
        *(f"  assumed: {line}" for line in plan.assumed.lines),
    ]
    blocks: list[Table | Text] = [Text(folded(head)), *_tables(plan), Text(folded(_outcome(plan)))]
    if warnings := Warnings(plan).lines():
        blocks.append(Text(folded([f"warning: {line}" for line in warnings])))
    return Report(tuple(blocks))


def _tables(plan: Plan) -> list[Table]:
    """Return tables of the gain sequences and of the expected losses."""
    rows = _rows(plan)
    code = Column("code", "parameter", align=LEFT)
    lost = Column("lost_at_start", "lost at start", "{:.3f}".format)
    with_total = (*rows, _total(rows))
    if plan.outlook is None:
        halving = Column("games_to_halve_loss", "games to halve it", _count)
        most = Column("c_most", "c at most", "{:.4g}".format)
        notes = ["lost: expected Elo below the optimum"]
        return [Listing((code, most, lost, halving), with_total).table(notes=notes)]
    gains = (
        code,
        Column("c_first", "c first", "{:.4g}".format),
        Column("c_last", "c last", "{:.4g}".format),
        Column("r_first", "R first", "{:.3g}".format),
        Column("r_last", "R last", "{:.3g}".format),
        Column("time_constant", "λ (games)", _count),
        Column("time_constant", "games/λ", lambda constant: f"{plan.games / constant:.3g}"),
    )
    losses = (
        code,
        lost,
        Column("lost_at_end", "at end", "{:.3f}".format),
        Column("noise", "of it noise", "{:.3f}".format),
    )
    return [
        Listing(gains, tuple(rows)).table(notes=["λ: the time constant with the last c and R"]),
        Listing(losses, with_total).table(
            notes=[
                "lost: expected Elo below the optimum, at the end of the last θ",
                "noise: limit of the loss with the last R, C·(1 − draws)·R/8 (against an opponent",
                "  twice as much); the mean of the last half has less of it",
            ]
        ),
    ]


def _count(games: float) -> str:
    return f"{round(games):,}" if games < 1e15 else "∞"


def _outcome(plan: Plan) -> list[str]:
    """Return the expected final loss, and the duration."""
    lines = []
    if plan.halving is not None and not plan.assumed.asked and np.isfinite(plan.halving).all():
        # the games are proportional to 1/Elo²
        enough = float((plan.assumed.elo * np.sqrt(plan.halving / plan.games)).max())
        lines.append(
            f"{plan.games:,} games gain half of the loss at the start where a parameter is worth "
            f"{enough:.2g} Elo or more at half a range; for the assumed Elo it takes "
            f"{plan.halving.max():,.0f}"
        )
    if plan.course is not None:
        left = plan.course.estimate[-1]
        lines.append(
            f"expected loss at the end: {float(left.mean()):.3f} ± {error_of_mean(left):.3f} Elo "
            f"(95 %), by {len(left)} simulated tunes (`simulate` shows more)"
        )
    elif plan.outlook is None:
        lines.append(
            "this method has no formula, and the tune is too long for a simulation here; "
            "use simulate"
        )
    if plan.hours is None:
        lines.append("no game has been timed yet; set --seconds-per-game to get the duration")
    else:
        is_measured = plan.seconds == plan.known.seconds
        source = f" (last {counted(plan.known.games, 'game')})" if is_measured else ""
        lines.append(
            f"{counted(plan.games, 'game')} of {plan.seconds:.3g} s{source}, "
            f"{plan.parallel} at a time: {format_duration(3600 * plan.hours)}"
        )
    return lines


#: Least length of a tune in time constants.
_TIME_CONSTANTS = 3
#: Delay of results in time constants from which θ overshoots.
_LATE = 0.25
#: The settings of c and R, by method.
_GAIN_SETTINGS = {
    "classic": ("c_end", "r_end"),
    "constant": ("c_end", "r_end"),
    "blog": ("c_end", "epsilon"),
    "weather_factory": ("step", "a"),
}
#: Most codes in one warning.
_MOST_CODES = 5


class Warnings:
    """Finds settings that would waste the games of a tune."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.competition = plan.competition

    def lines(self) -> list[str]:
        """Return one line for each problem."""
        plan = self.plan
        lines = [*self._bounds(), *scale_advice(self.competition.tuned), *self._rounding()]
        if plan.outlook is not None:
            lines += [*self._gains(plan.outlook), *self._delay(plan.outlook)]
        if plan.halving is not None and plan.assumed.asked:
            lines += self._too_few_games(plan.halving)
        return [*lines, *self._final_loss()]

    def _which(self, flags: Iterable[bool]) -> list[TunedParameter]:
        """Return the flagged parameters."""
        return list(compress(self.competition.tuned, flags))

    def _bounds(self) -> Iterator[str]:
        at_bound = [p for p in self.competition.tuned if p.start in (p.minimum, p.maximum)]
        if at_bound:
            yield (
                f"{_codes(at_bound)}: the start is at a bound, which cuts off one side of the "
                "perturbation; widen the bounds"
            )

    def _rounding(self) -> Iterator[str]:
        tuner = self.competition.tuner
        expected = self.plan.outlook
        last_c = tuner.method.reach() if expected is None else expected.c_last
        last_c = last_c * tuner.space.rate(tuner.space.start)
        raised, small, hidden = [], [], []
        for parameter, c in zip(self.competition.tuned, last_c.tolist(), strict=True):
            if parameter.integer and parameter.c_end is not None and parameter.c_end < 0.5:
                raised.append(parameter)
            elif parameter.integer and c < 1:
                small.append(parameter)
            if not parameter.integer and parameter.format is not None:
                start = parameter.start
                sides = {parameter.format % value for value in (start - c, start, start + c)}
                if len(sides) < 3:
                    hidden.append(parameter)
        if raised:
            yield (
                f"{_codes(raised)}: c_end is raised to 0.5, the smallest perturbation of an integer"
            )
        if small:
            effect = (
                "with rounding 'nearest' both sides are often the same"
                if tuner.rounding == "nearest"
                else "the two sides differ by one step or two, which games can hardly distinguish"
            )
            yield f"{_codes(small)}: c falls below 1, where {effect}"
        if hidden:
            yield (
                f"{_codes(hidden)}: c is so small that the format gives both sides the same value; "
                "use a longer format or a wider c"
            )

    def _gains(self, expected: Outlook) -> Iterator[str]:
        half_range = self.competition.tuner.space.width / 2
        if wide := self._which(expected.c_first > half_range):
            yield f"{_codes(wide)}: the first c exceeds half the range, and is cut at the bounds"
        by_c, by_r = _GAIN_SETTINGS[self.competition.values["method"]]
        too_slow = expected.time_constant > self.plan.games
        if never := self._which(too_slow):
            yield (
                f"{_codes(never)}: the time constant λ is longer than the tune; R cannot converge. "
                f"Widen c ({by_c}) first (λ is proportional to 1/c²), then increase R ({by_r}), "
                "or use the default method"
            )
        if slow := self._which((expected.time_constants < _TIME_CONSTANTS) & ~too_slow):
            need = _TIME_CONSTANTS * float(expected.time_constant.max())
            suffices = f"; {need:,.0f} games suffice" if need < 1e12 else ""
            yield (
                f"{_codes(slow)}: the tune is shorter than {_TIME_CONSTANTS} time constants"
                f"{suffices}"
            )
        stake = expected.lost_at_start
        if noisy := self._which((expected.noise >= stake) & (stake > 0)):
            yield (
                f"{_codes(noisy)}: the noise of θ costs more Elo than the start loses; "
                "use a smaller R and more games"
            )
        size = self.competition.tuner.counting.games_per_iteration
        if jumpy := self._which(np.maximum(expected.r_first, expected.r_last) * size > 1):
            yield (
                f"{_codes(jumpy)}: R times the games of an iteration is more than 1: a single "
                "iteration can move θ by more than c"
            )

    def _too_few_games(self, halving: Array) -> Iterator[str]:
        too_long = (halving > self.plan.games) & np.isfinite(halving)
        if short := self._which(too_long):
            yield (
                f"{_codes(short)}: {self.plan.games:,} games are too few to gain half of the loss "
                f"at the start, under the assumed Elo; {halving[too_long].max():,.0f} suffice"
            )

    def _delay(self, expected: Outlook) -> Iterator[str]:
        size = self.competition.tuner.counting.games_per_iteration
        in_progress = max(1.0, self.plan.assumed.concurrency / size)
        delay = float(expected.fastest.max()) * in_progress
        if delay > _LATE:
            yield (
                f"{round(in_progress * size)} games in progress are {delay:.2g} time constants: θ "
                "will overshoot; use a smaller R, or fewer games at a time"
            )

    def _final_loss(self) -> Iterator[str]:
        start = float(self.plan.assumed.lost_at_start().sum())
        end = self.plan.lost_at_end
        if end is not None and start > 0 and end >= start:
            count = len(self.competition.tuned)
            yield (
                f"{end:.2f} Elo below the optimum are expected at the end, {start:.2f} are at the "
                f"start: too many parameters ({count}) for the number of games, or too large an R"
            )


def _codes(parameters: list[TunedParameter]) -> str:
    names = [repr(p.code) for p in parameters[:_MOST_CODES]]
    more = len(parameters) - len(names)
    noun = "parameter" if len(parameters) == 1 else "parameters"
    return f"{noun} {', '.join(names)}{f' and {more} more' if more else ''}"
