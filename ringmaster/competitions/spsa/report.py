"""Reports of a tune: the table of parameters, the effects shown by the results, and the
same as data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ringmaster.competitions.spsa.methods import Schedule
from ringmaster.competitions.spsa.state import SpsaState
from ringmaster.competitions.tally import AT, Tally
from ringmaster.competitions.tuning.opponents import opponents_data, results_data, results_text
from ringmaster.competitions.tuning.parameter_settings import scale_advice, value_text
from ringmaster.competitions.tuning.player_tune import GameTune
from ringmaster.model.report import LEFT, Column, Listing, Table, Text
from ringmaster.stats.elo import Z95
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
    map(Column, ("estimate", "low", "high", "slope", "slope_error", "curvature", "optimum"))
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
        tuner = self.tuner
        if tuner.estimate_rule != "auto":
            return (
                tuner.estimate_rule,
                f"the setting `estimate` asks for {_NAMES[tuner.estimate_rule]}",
            )
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
        "signal": shown.signal,
        "slope": fit.slope,
        "slope_error": error,
        "slope_with_error": None if error is None else _with_error(fit.slope, error),
        "curvature": fit.curvature,
        "games_to_halve": fit.games_to_halve,
    }


def _explanations(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield explanations of the columns that have entries."""
    stakes = [row["elo_at_stake"] for row in rows if row["elo_at_stake"] is not None]
    if stakes:
        yield (
            "at stake: Elo gain from the start to the estimate, as the results suggest; "
            f"{sum(stakes):+z.1f} in all"
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
