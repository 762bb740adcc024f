"""The action `plan`: expectations of a tune by its settings, and warnings of settings that
would waste its games."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from ringmaster.competitions.result_lines import finite
from ringmaster.competitions.tuning.parameter_settings import scale_advice
from ringmaster.errors import counted
from ringmaster.forecast.forecast import Forecast, ForecastOptions, assume, error_of_mean
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.report import LEFT, Column, Listing, Report, Table, Text
from ringmaster.reporting.progress import format_duration
from ringmaster.reporting.tables import render_report
from ringmaster.reporting.text import folded
from ringmaster.tuners.simulation import SimulatedCourse
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
    halving  of other methods: games that halve the loss of each parameter, (n,)
    course   of a short simulation; None if formulas suffice or it would take too long
    """

    forecast: Forecast
    outlook: Outlook | None
    halving: Array | None
    course: SimulatedCourse | None

    @property
    def lost(self) -> tuple[float, float] | None:
        """Expected Elo loss of all parameters at the start and at the end, None if unknown."""
        if self.outlook is not None:
            return float(self.outlook.lost_at_start.sum()), float(self.outlook.lost_at_end.sum())
        if self.course is not None:
            return float(self.course.start.mean()), float(self.course.estimate[-1].mean())
        return None


def run(
    options: ForecastOptions, loaded: LoadedCompetition
) -> tuple[Callable[[], str], dict[str, Any]]:
    """Plan a tune; return a function that renders the text, and the data of --json.

    Raises UsageError, StoreError.
    """
    plan = _plan(assume(options, loaded))
    return lambda: render_report(_report(loaded.code, plan)), plan_data(loaded.code, plan)


def _plan(forecast: Forecast) -> Plan:
    tune, space = forecast.tune, forecast.tune.method.space
    conditions: dict[str, Any] = {
        "elo": forecast.elo,
        "lost_at_start": forecast.lost_at_start(),
        "draw_ratio": forecast.draw_ratio,
        "reference": tune.pairing == "reference",
    }
    if isinstance(tune.method, GainMethod):
        gains = tune.method.gains
        expected = outlook(space, gains, tune.counting, tune.iterations, **conditions)
        return Plan(forecast, expected, None, None)
    halving = games_to_halve_loss(space, tune.method.reach(), **conditions)
    replicates = min(_REPLICATES, _MOST_GAMES // (forecast.games * max(1, len(space) // 8)))
    course = forecast.simulate(replicates) if replicates >= _FEWEST else None
    return Plan(forecast, None, halving, course)


def plan_data(code: str, plan: Plan) -> dict[str, Any]:
    """Return a plan as JSON data; infinite numbers are None."""
    rows = _rows(plan)
    total: dict[str, Any] = _total(rows)
    if plan.course is not None:
        total["lost_at_end"] = float(plan.course.estimate[-1].mean())
        total["simulated"] = len(plan.course.start)
    return {
        "competition": code,
        "games": plan.forecast.games,
        "iterations": plan.forecast.competition.iterations,
        "games_per_iteration": plan.forecast.tune.counting.games_per_iteration,
        "assumed": list(plan.forecast.lines),
        "parameters": [
            {name: value if name == "code" else finite(value) for name, value in row.items()}
            for row in rows
        ],
        "all": total,
        "seconds_per_game": plan.forecast.timing.seconds,
        "parallel": plan.forecast.options.parallel,
        "hours": plan.forecast.timing.hours(plan.forecast.games),
        "warnings": Warnings(plan).lines(),
    }


def _rows(plan: Plan) -> list[dict[str, Any]]:
    """Return the expectations for each parameter."""
    method = plan.forecast.tune.method
    if plan.outlook is not None:
        columns = vars(plan.outlook)
    else:
        assert plan.halving is not None
        columns = {
            "c_most": method.reach() * method.space.rate(method.space.start),
            "lost_at_start": plan.forecast.lost_at_start(),
            "games_to_halve_loss": plan.halving,
        }
    columns = {"elo_at_half_range": plan.forecast.elo, **columns}
    return [
        {
            "code": parameter.code,
            "start": parameter.start,
            **{name: float(values[i]) for name, values in columns.items()},
        }
        for i, parameter in enumerate(plan.forecast.competition.tuned)
    ]


def _total(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the losses of all parameters together."""
    names = [name for name in ("lost_at_start", "lost_at_end", "noise") if name in rows[0]]
    return {name: sum(row[name] for row in rows) for name in names}


def _report(code: str, plan: Plan) -> Report:
    competition = plan.forecast.competition
    size = competition.tuner.counting.games_per_iteration
    versus = "the opponent" if competition.pairing == "reference" else "each other"
    head = [
        f"plan of {code}: {counted(plan.forecast.games, 'game')}, "
        f"{counted(competition.iterations, 'iteration')} of {size}; "
        f"both sides play {versus}",
        *(f"  assumed: {line}" for line in plan.forecast.lines),
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
    with_total = (*rows, {"code": "all", **_total(rows)})
    if plan.outlook is None:
        halving = Column("games_to_halve_loss", "games to halve it", _count)
        most = Column("c_most", "c at most", "{:.4g}".format)
        table = Listing((code, most, lost, halving), with_total)
        return [table.table(notes=["lost: expected Elo below the optimum"])]
    gains = (
        code,
        Column("c_first", "c first", "{:.4g}".format),
        Column("c_last", "c last", "{:.4g}".format),
        Column("r_first", "R first", "{:.3g}".format),
        Column("r_last", "R last", "{:.3g}".format),
        Column("time_constant", "λ (games)", _count),
        Column(
            "time_constant", "games/λ", lambda constant: f"{plan.forecast.games / constant:.3g}"
        ),
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
    forecast, halving, lines = plan.forecast, plan.halving, []
    if halving is not None and not forecast.elo_is_set and np.isfinite(halving).all():
        # the games are proportional to 1/Elo²
        enough = float((forecast.elo * np.sqrt(halving / forecast.games)).max())
        lines.append(
            f"{forecast.games:,} games gain half of the loss at the start where a parameter is "
            f"worth {enough:.2g} Elo or more at half a range; for the assumed Elo it takes "
            f"{halving.max():,.0f}"
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
    hours = forecast.timing.hours(forecast.games)
    if hours is None:
        lines.append(str(forecast.timing))
    else:
        lines.append(f"{forecast.games:,} {forecast.timing}: {format_duration(3600 * hours)}")
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
        self.tune = plan.forecast.tune
        self.games = plan.forecast.games
        self.tuned = plan.forecast.competition.tuned

    def lines(self) -> list[str]:
        """Return one line for each problem."""
        at_bound = [p.start in (p.minimum, p.maximum) for p in self.tuned]
        lines = [
            *self._about(
                at_bound,
                "the start is at a bound, which cuts off one side of the perturbation; widen the "
                "bounds",
            ),
            *scale_advice(self.tuned),
            *self._rounding(),
        ]
        if self.plan.outlook is not None:
            lines += [*self._gains(self.plan.outlook), *self._delay(self.plan.outlook)]
        if self.plan.halving is not None and self.plan.forecast.elo_is_set:
            lines += self._too_few_games(self.plan.halving)
        return [*lines, *self._final_loss()]

    def _about(self, flags: Iterable[bool], problem: str) -> Iterator[str]:
        """Yield the codes of the flagged parameters with their problem, if there are some."""
        codes = [repr(p.code) for p in compress(self.tuned, flags)]
        more = f" and {len(codes) - _MOST_CODES} more" if len(codes) > _MOST_CODES else ""
        if codes:
            noun = "parameter" if len(codes) == 1 else "parameters"
            yield f"{noun} {', '.join(codes[:_MOST_CODES])}{more}: {problem}"

    def _rounding(self) -> Iterator[str]:
        method, expected = self.tune.method, self.plan.outlook
        last_c = method.reach() if expected is None else expected.c_last
        steps = (last_c * method.space.rate(method.space.start)).tolist()
        raised = [p.integer and p.c_end is not None and p.c_end < 0.5 for p in self.tuned]
        small = [p.integer and c < 1 for p, c in zip(self.tuned, steps, strict=True)]
        yield from self._about(
            raised, "c_end is raised to 0.5, the smallest perturbation of an integer"
        )
        effect = (
            "with rounding 'nearest' both sides are often the same"
            if self.tune.rounding == "nearest"
            else "the two sides differ by one step or two, which games can hardly distinguish"
        )
        yield from self._about(
            np.array(small) & ~np.array(raised), f"c falls below 1, where {effect}"
        )
        hidden = [
            not p.integer
            and p.format is not None
            and len({p.format % value for value in (p.start - c, p.start, p.start + c)}) < 3
            for p, c in zip(self.tuned, steps, strict=True)
        ]
        yield from self._about(
            hidden,
            "c is so small that the format gives both sides the same value; use a longer format or "
            "a wider c",
        )

    def _gains(self, expected: Outlook) -> Iterator[str]:
        yield from self._about(
            expected.c_first > self.tune.method.space.width / 2,
            "the first c exceeds half the range, and is cut at the bounds",
        )
        by_c, by_r = _GAIN_SETTINGS[self.plan.forecast.competition.values["method"]]
        too_slow = expected.time_constant > self.games
        yield from self._about(
            too_slow,
            "the time constant λ is longer than the tune; R cannot converge. Widen c "
            f"({by_c}) first (λ is proportional to 1/c²), then increase R ({by_r}), or use the "
            "default method",
        )
        need = _TIME_CONSTANTS * float(expected.time_constant.max())
        suffices = f"; {need:,.0f} games suffice" if need < 1e12 else ""
        yield from self._about(
            (expected.time_constants < _TIME_CONSTANTS) & ~too_slow,
            f"the tune is shorter than {_TIME_CONSTANTS} time constants{suffices}",
        )
        stake = expected.lost_at_start
        yield from self._about(
            (expected.noise >= stake) & (stake > 0),
            "the noise of θ costs more Elo than the start loses; use a smaller R and more games",
        )
        size = self.tune.counting.games_per_iteration
        yield from self._about(
            np.maximum(expected.r_first, expected.r_last) * size > 1,
            "R times the games of an iteration is more than 1: a single iteration can move θ by "
            "more than c",
        )

    def _too_few_games(self, halving: Array) -> Iterator[str]:
        too_long = (halving > self.games) & np.isfinite(halving)
        yield from self._about(
            too_long,
            f"{self.games:,} games are too few to gain half of the loss at the start, under the "
            f"assumed Elo; {halving[too_long].max(initial=0):,.0f} suffice",
        )

    def _delay(self, expected: Outlook) -> Iterator[str]:
        size = self.tune.counting.games_per_iteration
        in_progress = max(1.0, self.plan.forecast.options.parallel / size)
        delay = float(expected.fastest.max()) * in_progress
        if delay > _LATE:
            yield (
                f"{round(in_progress * size)} games in progress are {delay:.2g} time constants: θ "
                "will overshoot; use a smaller R, or fewer games at a time"
            )

    def _final_loss(self) -> Iterator[str]:
        start, end = self.plan.lost or (0.0, 0.0)
        if end >= start > 0:
            yield (
                f"{end:.2f} Elo below the optimum are expected at the end, {start:.2f} are at the "
                f"start: too many parameters ({len(self.tuned)}) for the number of games, or too "
                "large an R"
            )
