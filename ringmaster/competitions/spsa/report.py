"""Reports of a tune: the table of parameters, the effects shown by the results, and the
same as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from ringmaster.competitions.spsa.methods import Schedule
from ringmaster.competitions.spsa.state import SpsaState
from ringmaster.competitions.tuning.opponents import counts_text
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode, value_text
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.report import LEFT, RIGHT, Cell, Table, Text
from ringmaster.stats.elo import Z95
from ringmaster.tuners.spsa import OptimumInterval, Spsa
from ringmaster.tuners.spsa.regression import Fit

_NO_SIGNAL = "not yet"


class Findings(msgspec.Struct, frozen=True):
    """The results for one tuned parameter, in the parameter's units.

    optimum, interval  of the method, or of the regression; None for an unknown optimum
    """

    estimate: float
    mean: float
    fit: Fit
    optimum: float | None
    interval: OptimumInterval | Fit


class TuneReport(msgspec.Struct, frozen=True):
    """The present state of a tune.

    opponents     weights by player code, {} in self-play
    engine_value  returns the delivered value for a parameter's index and played value
    estimated     estimates of all parameters by code, rounded as they are played
    course        values since the start of the run
    """

    parameters: Sequence[TunedParameter]
    schedule: Schedule
    tuner: Spsa
    state: SpsaState
    opponents: Mapping[str, int]
    engine_value: Callable[[int, float], Any]
    estimated: ValuesByCode
    course: Course

    def blocks(self) -> list[Table | Text]:
        """Return the report's blocks."""
        findings = self._findings()
        blocks: list[Table | Text] = [self._values(findings)]
        if self.state.iterations:
            blocks.append(self._signals(findings))
        if self.schedule.derived:
            blocks.append(Text(self.schedule.derived))
        return blocks

    def short(self) -> list[Table | Text]:
        """Return the blocks of the live display."""
        tuned = [p for p in self.parameters if not p.frozen]
        # a run records the course; loaded results have none
        has_course = any(self.course.values(p.code) for p in tuned)
        rows: list[tuple[Cell, ...]] = []
        for parameter, one in zip(tuned, self._findings(), strict=True):
            values = self.course.values(parameter.code)
            spread = parameter.maximum - parameter.minimum
            course = f"{trend(values, spread):1} {bars(values, spread)}"
            rows.append(
                (
                    parameter.code,
                    _number(parameter.start),
                    _number(one.estimate),
                    *([course] if has_course else []),
                    _ends(one.interval),
                )
            )
        courses = ("course",) if has_course else ()
        return [
            Table(
                headers=("parameter", "start", "value", *courses, "optimum 95 %"),
                rows=tuple(rows),
                title=self._title(),
                notes=tuple(self._results()),
                align=(LEFT, RIGHT, RIGHT, *[LEFT for _ in courses], RIGHT),
            )
        ]

    def data(self) -> dict[str, Any]:
        """Return the data of `show --json`."""
        findings = iter(self._findings())
        theta = iter(self.tuner.theta.tolist())
        parameters = []
        for i, parameter in enumerate(self.parameters):
            if parameter.frozen:
                value = self.estimated[parameter.code]
                parameters.append(
                    {
                        "code": parameter.code,
                        "start": parameter.start,
                        "value": value,
                        "engine_value": self.engine_value(i, value),
                        "estimate": value,
                        "frozen": True,
                    }
                )
            else:
                parameters.append(self._data(i, parameter, next(theta), next(findings)))
        data = {
            "method": self.state.method,
            "iterations": {"told": self.state.iterations, "planned": self.schedule.iterations},
            "estimate": self._estimate_choice()[0],
            "derived": list(self.schedule.derived),
            "parameters": parameters,
        }
        if len(self.opponents) > 1:
            data["opponents"] = [
                {"code": code, "weight": weight, "wins": won, "draws": drawn, "losses": lost}
                for code, weight, (won, drawn, lost) in self._against()
            ]
        return data

    def _data(
        self, index: int, parameter: TunedParameter, theta: float, findings: Findings
    ) -> dict[str, Any]:
        fit = findings.fit
        return {
            "code": parameter.code,
            "start": parameter.start,
            "value": theta,
            "mean": findings.mean,
            "estimate": findings.estimate,
            "engine_value": self.engine_value(index, findings.estimate),
            "low": findings.interval.low,
            "high": findings.interval.high,
            "elo_at_stake": findings.interval.elo_at_stake,
            "signal": findings.interval.signal,
            "slope": fit.slope,
            "slope_error": Z95 * fit.slope_error if math.isfinite(fit.slope_error) else None,
            "curvature": fit.curvature,
            "optimum": fit.optimum,
            "games_to_halve": fit.games_to_halve,
            "frozen": False,
        }

    def _findings(self) -> list[Findings]:
        """Return the results for each tuned parameter."""
        tuner = self.tuner
        fits = tuner.fits()
        own = tuner.intervals() if tuner.iterations else None
        intervals: Sequence[OptimumInterval | Fit] = fits if own is None else own
        mean = tuner.averages.mean() if tuner.iterations else tuner.theta
        best: Iterable[float | None] = [f.optimum for f in fits]
        if own is not None and (estimate := tuner.method.estimate(tuner.memory)) is not None:
            best = estimate.tolist()
        rows = zip(tuner.estimate().tolist(), mean.tolist(), fits, best, intervals, strict=True)
        return [Findings(*row) for row in rows]

    def _title(self) -> str:
        return f"iteration {self.state.iterations}/{self.schedule.iterations}, {self.state.method}"

    def _results(self) -> list[str]:
        state = self.state
        if not self.opponents:
            return [f"{counts_text(state.results)} of θ+ against θ-"]
        several = len(self.opponents) > 1
        name = "the opponents" if several else next(iter(self.opponents))
        lines = [
            f"{counts_text(state.results)} of θ+ against {name}",
            f"{counts_text(state.results_minus)} of θ- against {name}",
        ]
        if several:
            lines += [
                f"{counts_text(counts)} of both against {code} (weight {weight})"
                for code, weight, counts in self._against()
            ]
        return lines

    def _against(self) -> Iterator[tuple[str, int, list[int]]]:
        """Yield code, weight, and the results of both sides together, of each opponent."""
        for code, weight in self.opponents.items():
            yield code, weight, self.state.against.get(code, [0, 0, 0])

    def _estimate_choice(self) -> tuple[str, str]:
        """Return the kind of the estimate, and the reason for it."""
        tuner = self.tuner
        if tuner.estimate_rule != "auto":
            return (
                tuner.estimate_rule,
                f"the setting `estimate` asks for {_NAMES[tuner.estimate_rule]}",
            )
        if tuner.method.estimate(tuner.memory) is not None:
            return "method", f"the value of least expected loss, by method {self.state.method!r}"
        if tuner.iterations and tuner.averages.drift().settled:
            return "mean", f"{_NAMES['mean']}: θ wanders and no longer moves in one direction"
        reason = "θ still moves in one direction" if tuner.iterations else "there is no result"
        return "last", f"{_NAMES['last']}: {reason}"

    def _values(self, findings: Sequence[Findings]) -> Table:
        tuner = self.tuner
        k = tuner.counting.k(min(self.state.iterations + 1, self.schedule.iterations))
        c = iter(tuner.method.c(k, tuner.memory).tolist())
        gains = self.schedule.gains
        R = iter([] if gains is None else gains.R(k).tolist())
        theta, rest = iter(tuner.theta.tolist()), iter(findings)
        rows: list[tuple[Cell, ...]] = []
        for i, parameter in enumerate(self.parameters):
            if parameter.frozen:
                value = self.estimated[parameter.code]
                cells: list[Cell] = [_number(value), None, "frozen", self._shown(i, value), None]
            else:
                one = next(rest)
                cells = [
                    _number(next(theta)),
                    _number(one.mean),
                    _number(one.estimate),
                    self._shown(i, one.estimate),
                    f"{next(c):.3g}",
                ]
            row = [parameter.code, _number(parameter.start), *cells]
            if gains is not None:
                row.append(None if parameter.frozen else f"{next(R):.3g}")
            rows.append(tuple(row))
        headers = ("parameter", "start", "value", "mean", "estimate", "engine", "c")
        return Table(
            headers=headers if gains is None else (*headers, "R"),
            rows=tuple(rows),
            title=self._title(),
            notes=(
                *self._results(),
                f"estimate: {self._estimate_choice()[1]}",
                *tuner.method.remarks(tuner.memory),
            ),
            align=("left", *([RIGHT] * (len(headers) - (gains is None)))),
        )

    def _shown(self, index: int, value: float) -> str:
        return value_text(self.engine_value(index, value))

    def _signals(self, findings: Sequence[Findings]) -> Table:
        rows: list[tuple[Cell, ...]] = []
        tuned = [p for p in self.parameters if not p.frozen]
        for parameter, one in zip(tuned, findings, strict=True):
            fit = one.fit
            slope: Cell = None
            if math.isfinite(fit.slope_error):
                slope = _with_error(fit.slope, Z95 * fit.slope_error)
            optimum: Cell = None
            stake: Cell = None
            if one.optimum is not None:
                optimum = f"{one.optimum:.4g} ({_ends(one.interval)})"
                if one.interval.elo_at_stake is not None:
                    stake = f"{one.interval.elo_at_stake:+z.1f}"
            halve = None if fit.games_to_halve is None else f"{fit.games_to_halve:,}"
            signal = "yes" if one.interval.signal else _NO_SIGNAL
            rows.append((parameter.code, optimum, stake, signal, slope, halve))
        return Table(
            headers=("parameter", "optimum (95 %)", "at stake", "signal", "Elo/unit", "to halve"),
            rows=tuple(rows),
            title="results for each parameter",
            notes=tuple(_explanations(findings)),
            align=("left", *([RIGHT] * 5)),
        )


def _explanations(findings: Sequence[Findings]) -> Iterator[str]:
    """Yield explanations of the columns that have entries."""
    stakes = [f.interval.elo_at_stake for f in findings if f.interval.elo_at_stake is not None]
    if stakes:
        yield (
            "at stake: Elo gain from the start to the estimate, as the results suggest; "
            f"{sum(stakes):+z.1f} in all"
        )
    if not all(f.interval.signal for f in findings):
        yield f"signal {_NO_SIGNAL}: the effect of this parameter alone may be chance;"
        yield "  all estimates together may still be better than the start"
    yield "Elo/unit: gain by a higher value, at the mean of the played values, ± 95 %"
    if any(f.fit.games_to_halve is not None for f in findings):
        yield "to halve: further games that halve the interval"


_NAMES = {"last": "the last value", "mean": "the mean of the last half"}


def _number(value: float) -> str:
    return f"{value:.6g}"


def _with_error(value: float, error: float) -> str:
    """Return a value and its error to the second digit of the error."""
    if not error > 0:
        return f"{value:+.2g}"
    digits = 1 - math.floor(math.log10(error))
    if abs(digits) > 6:
        return f"{value:+.2g} ± {error:.2g}"
    places = max(0, digits)
    # avoid "-0.00"
    value = round(value, digits) + 0.0
    return f"{value:+.{places}f} ± {round(error, digits):.{places}f}"


def _ends(interval: OptimumInterval | Fit) -> str:
    """Return an interval, whose open ends are None, in words."""
    low, high = interval.low, interval.high
    if low is not None and high is not None:
        return f"{low:.4g} to {high:.4g}"
    if low is not None:
        return f"above {low:.4g}"
    return "unknown" if high is None else f"below {high:.4g}"


# the course of the values on the live display

#: Most points in memory; above them every second one is dropped.
MOST_POINTS = 128
#: Bars of a course.
BARS = 16
_LEVELS = "▁▂▃▄▅▆▇█"
#: The height of the bars is at least this share of the parameter's range.
_LEAST_SPAN = 0.02
#: A trend is a change from one quarter of the course to the next by this share of its span.
_TREND = 0.15


class Course:
    """Equally spaced values of θ since the start of the run; few, however long it takes."""

    def __init__(self) -> None:
        self._codes: tuple[str, ...] = ()
        self._points: list[list[float]] = []
        self._stride = 1
        self._skipped = 0

    def record(self, codes: Sequence[str], theta: list[float]) -> None:
        """Add the values after an iteration; other parameters than before begin anew."""
        if tuple(codes) != self._codes:
            self._codes, self._points, self._stride = tuple(codes), [], 1
        self._skipped += 1
        if self._points and self._skipped < self._stride:
            return
        self._skipped = 0
        self._points.append(theta)
        if len(self._points) > MOST_POINTS:
            self._points = self._points[::2]
            self._stride *= 2

    def values(self, code: str) -> list[float]:
        """Return the values of a parameter, oldest first."""
        if code not in self._codes:
            return []
        index = self._codes.index(code)
        return [point[index] for point in self._points]


def bars(values: Sequence[float], spread: float) -> str:
    """Return values as bars of eight heights, from their least to their greatest; "" for fewer
    than two.

    spread  size of the parameter's range; small changes of a parameter look small
    """
    if len(values) < 2:
        return ""
    count = min(BARS, len(values))
    ends = [len(values) * i // count for i in range(count + 1)]
    means = [sum(values[i:j]) / (j - i) for i, j in pairwise(ends)]
    low, high = min(means), max(means)
    span = max(high - low, _LEAST_SPAN * spread) or 1.0
    start = (low + high - span) / 2
    return "".join(_LEVELS[min(7, int(8 * (mean - start) / span))] for mean in means)


def trend(values: Sequence[float], spread: float) -> str:
    """Return an arrow for the change in the last half of the values; "" for fewer than eight."""
    quarter = len(values) // 4
    if quarter < 2:
        return ""
    span = max(max(values) - min(values), _LEAST_SPAN * spread)
    last, before = values[-quarter:], values[-2 * quarter : -quarter]
    change = (sum(last) - sum(before)) / quarter
    return "→" if abs(change) <= _TREND * span else "↑" if change > 0 else "↓"
