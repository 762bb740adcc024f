"""Reports of a tune: the table of parameters, the effects shown by the results, and the
same as data; the charts."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ringmaster.competitions.spsa.methods import Schedule
from ringmaster.competitions.spsa.state import SpsaState
from ringmaster.competitions.tally import AT, Tally
from ringmaster.competitions.tournaments.matchup_charts import MOST_POINTS, thinned
from ringmaster.competitions.tuning.chart_parts import (
    VALUE_LABEL,
    number,
    on_axis,
    parameter_chart,
    value_groups,
)
from ringmaster.competitions.tuning.opponents import opponents_data, results_data, results_text
from ringmaster.competitions.tuning.parameter_settings import scale_advice, value_text
from ringmaster.competitions.tuning.player_tune import GameTune
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.report import (
    LEFT,
    Band,
    Chart,
    ChartGroup,
    Column,
    Interval,
    Level,
    Listing,
    Piece,
    Series,
    Table,
    Text,
    Whiskers,
)
from ringmaster.stats.elo import NELO as C
from ringmaster.stats.elo import Z95
from ringmaster.tuners.space import Array
from ringmaster.tuners.spsa.method import OptimumInterval
from ringmaster.tuners.spsa.regression import Fit
from ringmaster.tuners.spsa.tuner import Finding, Spsa

_NO_SIGNAL = "not yet"
_NAMES = {"last": "the last value", "mean": "the mean of the last half"}

_CODE = Column("code", "parameter", align=LEFT, live=True)
_START = Column("start", "start", "{:.6g}".format, live=True)
#: The state of each parameter.
_VALUES = (
    _CODE,
    _START,
    Column("value", "value", "{:.6g}".format),
    Column("mean", "mean", "{:.6g}".format),
    Column("estimate_or_frozen", "estimate", in_data=False),
    Column("engine_value", "engine", value_text),
    Column("c", "c", "{:.3g}".format),
    Column("R", "R", "{:.3g}".format),
)
#: The results for each tuned parameter.
_EFFECTS = (
    _CODE,
    Column("optimum_with_interval", "optimum (95 %)", in_data=False),
    Column("elo_at_stake", "at stake", "{:+z.1f}".format),
    Column("signal", "signal", lambda signal: "yes" if signal else _NO_SIGNAL),
    Column("slope_with_error", "Elo/unit", in_data=False),
    Column("games_to_halve", "to halve", "{:,}".format),
)
_LIVE = (
    _CODE,
    _START,
    Column("estimate", "value", "{:.6g}".format, live=True),
    Column("course", "course", align=LEFT, live=True),
    Column("interval", "optimum 95 %", live=True),
)
_FURTHER_DATA = tuple(
    Column(code)
    for code in (
        *("estimate", "low", "high", "elo_at_stake_error"),
        *("slope", "slope_error", "curvature", "optimum"),
    )
)
_DATA = (*_VALUES, *_EFFECTS[1:], *_FURTHER_DATA, Column("frozen"))


class ReportedTune(GameTune):
    """Reports of a tune; the base of SpsaCompetition.

    schedule, tuner  in use
    """

    _state: SpsaState
    schedule: Schedule
    tuner: Spsa

    def _blocks(self, *, live: bool) -> Iterator[Table | Text]:
        rows = self._rows()
        tuned = tuple(row for row in rows if not row["frozen"])
        if live:
            yield Listing(_LIVE, tuned).table(self._title(), self._results(), live=True)
            return
        notes = (
            *self._results(),
            f"estimate: {self._estimate_choice()[1]}",
            *self.tuner.method.remarks(self.tuner.memory),
        )
        yield Listing(_VALUES, rows).table(self._title(), notes)
        if self._state.iterations:
            notes = tuple(_explanations(tuned))
            yield Listing(_EFFECTS, tuned).table("results for each parameter", notes)
        if self.schedule.derived:
            yield Text(self.schedule.derived)
        if advice := scale_advice(self.parameters):
            yield Text(tuple(advice))
        if removed := self._state.history.removed():
            values = ", ".join(f"{code} {value:.6g}" for code, value in removed.items())
            yield Text((f"removed parameters, with their last values: {values}",))

    def _summary_of_tune(self) -> dict[str, Any]:
        state = self._state
        data: dict[str, Any] = {
            "method": state.method,
            "iterations": {"told": state.iterations, "planned": self.schedule.iterations},
            "estimate": self._estimate_choice()[0],
            "derived": list(self.schedule.derived),
            "parameters": Listing(_DATA, self._rows()).data(),
        }
        if len(self._weights) > 1:
            data["opponents"] = opponents_data(state.tallies.values(), self._weights)
        if parts := self._by_time_control():
            data["time_controls"] = [
                {"time_control": control, "weight": weight, **results_data(own)}
                for control, weight, own in parts
            ]
        if removed := state.history.removed():
            data["removed"] = removed
        data["repeats"] = sum(tally.repeats for tally in self._own_tallies())
        return data

    def _rows(self) -> tuple[dict[str, Any], ...]:
        tuner, gains = self.tuner, self.schedule.gains
        k = tuner.counting.k(min(self._state.iterations + 1, self.schedule.iterations))
        R = [None] * len(tuner.theta) if gains is None else gains.R(k).tolist()
        course = [theta for _, theta in tuner.trajectory.points()]
        tuned = zip(
            tuner.theta.tolist(),
            tuner.c(k).tolist(),
            R,
            zip(*course, strict=True) if course else [()] * len(tuner.theta),
            tuner.findings(),
            strict=True,
        )
        estimated = self.estimated()
        rows = []
        for index, parameter in enumerate(self.parameters):
            row: dict[str, Any] = {
                "code": parameter.code,
                "start": parameter.start,
                "frozen": parameter.frozen,
            }
            if parameter.frozen:
                row["value"] = row["estimate"] = estimated[parameter.code]
                row["estimate_or_frozen"] = "frozen"
            else:
                row["value"], row["c"], row["R"], values, finding = next(tuned)
                row["course"] = course_text(values, parameter.maximum - parameter.minimum)
                row |= _results_of(finding)
            row["engine_value"] = self._delivered_value(index, row["estimate"])
            rows.append(row)
        return tuple(rows)

    def _title(self) -> str:
        return (
            f"iteration {self._state.iterations}/{self.schedule.iterations}, {self._state.method}"
        )

    def _results(self) -> list[str]:
        tallies = self._state.tallies.values()
        by_time_control = [
            f"{results_text(own)} of {'both' if self._weights else 'θ+'} at "
            f"{control or 'other limits'} (weight {weight:g})"
            for control, weight, own in self._by_time_control()
        ]
        if not self._weights:
            return [f"{results_text(tallies)} of θ+ against θ-", *by_time_control]
        several = len(self._weights) > 1
        name = "the opponents" if several else next(iter(self._weights))
        lines = []
        for side in "+-":
            own = [tally for tally in tallies if tally.players[0].endswith(side)]
            lines.append(f"{results_text(own)} of θ{side} against {name}")
        if several:
            lines += [
                f"{results_text(tallies, code)} of both against {code} (weight {weight})"
                for code, weight in self._weights.items()
            ]
        return lines + by_time_control

    def _by_time_control(self) -> list[tuple[str, float, list[Tally]]]:
        """Return name, weight (0 for a former one) and games of each time control.

        Games without the setting `time_controls` have the name "".  [] without any others.
        """
        weights = self._state.history.learning.settings.get("time_controls", {})
        parts: dict[str, list[Tally]] = {control: [] for control in weights}
        for key, tally in self._state.tallies.items():
            parts.setdefault(key.partition(AT)[2], []).append(tally)
        rows = [(control, weights.get(control, 0), own) for control, own in parts.items()]
        return rows if any(parts) else []

    def _estimate_choice(self) -> tuple[str, str]:
        """Return the kind of the estimate, and the reason for it."""
        tuner, rule = self.tuner, self.tuner.estimate_rule
        if rule != "auto":
            return rule, f"the setting `estimate` asks for {_NAMES[rule]}"
        if tuner.method.estimate(tuner.memory) is not None:
            return "method", f"the value of least expected loss, by method {self._state.method!r}"
        if tuner.iterations and tuner.averages.drift().settled:
            return "mean", f"{_NAMES['mean']}: θ wanders and no longer moves in one direction"
        reason = "θ still moves in one direction" if tuner.iterations else "there is no result"
        return "last", f"{_NAMES['last']}: {reason}"


def _results_of(finding: Finding) -> dict[str, Any]:
    """Return the columns that show the results for a parameter."""
    fit, shown = finding.fit, finding.shown
    interval, optimum = _interval(shown), shown.optimum
    error = Z95 * fit.slope_error if math.isfinite(fit.slope_error) else None
    return {
        "mean": finding.mean,
        "estimate": finding.estimate,
        "estimate_or_frozen": f"{finding.estimate:.6g}",
        "optimum": optimum,
        "low": shown.low,
        "high": shown.high,
        "interval": interval,
        "optimum_with_interval": None if optimum is None else f"{optimum:.4g} ({interval})",
        "elo_at_stake": shown.elo_at_stake,
        "elo_at_stake_error": Z95 * shown.elo_deviation
        if isinstance(shown, OptimumInterval)
        else None,
        "signal": shown.signal,
        "slope": fit.slope,
        "slope_error": error,
        "slope_with_error": None if error is None else _with_error(fit.slope, error),
        "curvature": fit.curvature,
        "games_to_halve": fit.games_to_halve,
    }


def _explanations(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    stakes = [row["elo_at_stake"] for row in rows if row["elo_at_stake"] is not None]
    if stakes:
        yield "at stake: Elo gain from the start to the estimate, as the results suggest;"
        errors = [row["elo_at_stake_error"] for row in rows]
        if None in errors or not any(errors):
            yield f"  {sum(stakes):+z.1f} in all"
        else:
            yield (
                f"  {sum(stakes):+z.1f} ± {math.hypot(*errors):.1f} in all "
                "(95 %, if the loss is a parabola)"
            )
    if not all(row["signal"] for row in rows):
        yield f"signal {_NO_SIGNAL}: the effect of this parameter alone may be chance;"
        yield "  all estimates together may still be better than the start"
    yield "Elo/unit: gain by a higher value, at the mean of the played values, ± 95 %"
    if any(row["games_to_halve"] is not None for row in rows):
        yield "to halve: further games that halve the interval"


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


def _interval(shown: OptimumInterval | Fit) -> str:
    low, high = shown.low, shown.high
    return "unknown" if low is None or high is None else f"{low:.4g} to {high:.4g}"


# the course of the values on the live display

#: Bars of a course.
BARS = 16
_LEVELS = "▁▂▃▄▅▆▇█"
#: The height of the bars is at least this share of the parameter's range.
_LEAST_SPAN = 0.02
#: A trend is a change from one quarter of the course to the next by this share of its span.
_TREND = 0.15


def course_text(values: Sequence[float], spread: float) -> str | None:
    """Return values as an arrow for the trend and bars of eight heights; None for fewer than two.

    spread  size of the parameter's range; small changes of a parameter look small
    """
    if len(values) < 2:
        return None
    count = min(BARS, len(values))
    ends = [len(values) * i // count for i in range(count + 1)]
    means = [sum(values[i:j]) / (j - i) for i, j in pairwise(ends)]
    low, high = min(means), max(means)
    span = max(high - low, _LEAST_SPAN * spread) or 1.0
    start = (low + high - span) / 2
    bars = "".join(_LEVELS[min(7, int(8 * (mean - start) / span))] for mean in means)
    return f"{_trend(values, spread):1} {bars}"


def _trend(values: Sequence[float], spread: float) -> str:
    """Return an arrow for the change in the last half of the values; "" for fewer than eight."""
    quarter = len(values) // 4
    if quarter < 2:
        return ""
    span = max(max(values) - min(values), _LEAST_SPAN * spread)
    last, before = values[-quarter:], values[-2 * quarter : -quarter]
    change = (sum(last) - sum(before)) / quarter
    return "→" if abs(change) <= _TREND * span else "↑" if change > 0 else "↓"


# Charts.  θ, its averages and the regression come from the tuner; perturbations and results by
# value come from the recorded games, since the schedule may have been edited.

#: Most games that are drawn, and most values of one side in them; of more, a sample.
MOST_DRAWN, MOST_VALUES = 100_000, 4_000_000
#: Most groups of values of a parameter.
GROUPS = 12


class TuneCharts:
    """Collects the games of a tune for charts.

    parameters  the tuned parameters, in the order of the tuner's arrays
    share       of the games that will be added, a sample by chance below 1
    """

    def __init__(
        self, parameters: Sequence[TunedParameter], tuner: Spsa, share: float = 1.0
    ) -> None:
        self._parameters = tuple(parameters)
        self._tuner = tuner
        #: (games, θ).
        games_before = tuner.counting.games_before
        self._course = thinned(
            [(float(games_before(k + 1)), theta) for k, theta in tuner.trajectory.points()]
        )
        self._share = share
        self._own, self._other, self._scores = array("d"), array("d"), array("d")

    def add(self, own: Sequence[float], other: Sequence[float] | None, score: float) -> None:
        """Add a game that is not void.

        own, other  values of θ⁺ and θ⁻, NaN for parameters newer than the game; against a
                    reference the values of the side that played, and None
        score       of the first of them: 1, 0 or −1 for a win, draw or loss
        """
        self._own.extend(own)
        self._other.extend(other or ())
        self._scores.append(score)

    def charts(self) -> list[ChartGroup]:
        """Return the charts; none before the first completed iteration."""
        if not self._course:
            return []
        distances, midpoints = self._played()
        courses, regressions = [], []
        findings = self._tuner.findings()
        for i, (parameter, finding) in enumerate(zip(self._parameters, findings, strict=True)):
            distance, midpoint = distances[:, i], midpoints[:, i]
            courses.append(self._parameter(i, parameter, finding, distance))
            chart = self._regression(parameter, finding, distance, midpoint)
            if chart is not None:
                regressions.append(chart)
        text = (
            "The band about θ shows the played values. At the right: the estimate, and the "
            "95 % interval of the optimum, if the results show one."
        )
        groups = [ChartGroup("Parameters", tuple(courses), text, "trajectory")]
        if regressions:
            text = (
                "Elo gain by a higher value, by the played value (95 % intervals). The line "
                "crosses zero at the optimum."
            )
            if self._share < 1:
                games = f"{len(self._scores):,} games"
                text += f" From {games}, a sample by chance of one in {1 / self._share:.0f}."
            groups.append(ChartGroup("Results by value", tuple(regressions), text, "results"))
        return groups

    def _played(self) -> tuple[Array, Array]:
        """Return distances and midpoints of the sides on axes, (games, n); NaN where absent."""
        n = len(self._parameters)
        own = self._on_axes(np.array(self._own).reshape(-1, n))
        if self._other:
            other = self._on_axes(np.array(self._other).reshape(-1, n))
            return (own - other) / 2, (own + other) / 2
        # approximately θ when the game was recorded
        games = np.arange(len(own)) / self._share
        x = [0.0, *(games for games, _ in self._course)]
        y = np.array([self._tuner.began.tolist(), *(theta for _, theta in self._course)])
        theta = self._on_axes(np.stack([np.interp(games, x, y[:, i]) for i in range(n)], axis=1))
        return own - theta, theta

    def _on_axes(self, values: Array) -> Array:
        """Return values, (…, n), with the common logarithms of those on a logarithmic scale."""
        space = self._tuner.space
        return space.theta(values) / space.unit

    def _parameter(
        self, i: int, parameter: TunedParameter, finding: Finding, distance: Array
    ) -> Chart:
        start = parameter.start
        line = [(0.0, start), *((games, theta[i]) for games, theta in self._course)]
        last = line[-1][0]
        pieces: list[Piece] = []
        if len(distance):
            # root mean squares of groups of games
            parts = np.array_split(distance, min(MOST_POINTS, len(distance)))
            counts = [max(1, np.count_nonzero(np.isfinite(part))) for part in parts]
            root = np.sqrt([np.nansum(part**2) for part in parts] / np.array(counts))
            sizes = np.array([len(part) for part in parts])
            x = (np.cumsum(sizes) - sizes / 2) / self._share
            centre = np.interp(x, [p[0] for p in line], [p[1] for p in line])
            if parameter.scale == "log":
                low, high = centre / 10**root, centre * 10**root
            else:
                low, high = centre - root, centre + root
            low, high = np.maximum(low, parameter.minimum), np.minimum(high, parameter.maximum)
            band = tuple(zip(x.tolist(), low.tolist(), high.tolist(), strict=True))
            pieces.append(Band("perturbation", band))
        pieces.append(Level("start", start))
        pieces.append(Series("θ", tuple(line)))
        pieces.append(Level("mean of the last half", finding.mean, "average", last / 2, last))
        pieces.append(Interval("estimate", finding.estimate, finding.shown.low, finding.shown.high))
        note = (
            f"{number(start)} → {number(parameter.played_value(finding.estimate))}, "
            f"range {number(parameter.minimum)} to {number(parameter.maximum)}"
        )
        bounds = (parameter.minimum, parameter.maximum)
        return parameter_chart(parameter.code, pieces, note, bounds, signal=finding.shown.signal)

    def _regression(
        self, parameter: TunedParameter, finding: Finding, distance: Array, midpoint: Array
    ) -> Chart | None:
        """Return the gain in Elo a unit of the axis by the played value.

        The expected W − L of m + d against m − d is 2d·slope/C; of m + d against a
        reference it is half of that, plus a term independent of d.
        """
        moved = np.isfinite(distance) & (distance != 0)
        if not moved.any():
            return None
        d, m, scores = distance[moved], midpoint[moved], np.array(self._scores)
        scale = C / 2 if self._other else C
        # variance a game, from iterations: the games of a pair are not independent
        regression = self._tuner.regression
        variance = float(np.square(scores).mean())
        if regression.games and self._other:
            variance = regression.squares / regression.games
        group = value_groups(m, d * d, GROUPS)
        sums = (np.bincount(group, term) for term in (d * d, d * d * m, d * scores[moved]))
        points = []
        for dd, ddm, ds in zip(*(column.tolist() for column in sums), strict=True):
            gain, error = scale * ds / dd, scale * Z95 * math.sqrt(variance / dd)
            points.append((ddm / dd, gain, gain - error, gain + error))
        pieces: list[Piece] = [Level("no gain", 0.0)]
        left, right, fit = points[0][0], points[-1][0], finding.fit
        log = parameter.scale == "log"
        unit = finding.estimate * math.log(10) if log else 1.0
        if fit.optimum is not None and fit.curvature is not None:
            within = parameter.minimum <= fit.optimum <= parameter.maximum
            optimum, low, high = (
                None if value is None else on_axis(value, log=log)
                for value in (fit.optimum, fit.low, fit.high)
            )
            assert optimum is not None
            pieces.append(Interval("fitted optimum", optimum, low, high, along="x"))
            if within:
                left, right = min(left, optimum), max(right, optimum)
            ends = [(x, -2 * fit.curvature * unit**2 * (x - optimum)) for x in (left, right)]
        else:
            ends = [(left, fit.slope * unit), (right, fit.slope * unit)]
        pieces.append(Whiskers("results (95 %)", tuple(points)))
        if right > left:
            pieces.append(Series("fit", tuple(ends), "average"))
        label = "Elo a factor of 10" if log else "Elo a unit"
        return Chart(parameter.code, tuple(pieces), VALUE_LABEL[log], label, _summary(finding))


def _summary(finding: Finding) -> str:
    fit = finding.fit
    if not finding.shown.signal:
        return "no signal yet"
    if fit.optimum is None:
        text = f"{fit.slope:+.3g} ± {Z95 * fit.slope_error:.2g} Elo a unit (95 %)"
    else:
        text = f"fitted optimum {number(fit.optimum)}"
        if fit.low is not None and fit.high is not None:
            text += f" (95 %: {number(fit.low)} to {number(fit.high)})"
    if finding.shown.elo_at_stake is not None:
        text += f", {finding.shown.elo_at_stake:+z.1f} Elo over the start"
    return text
