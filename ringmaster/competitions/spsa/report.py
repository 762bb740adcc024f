"""What a tune says of itself: the table of parameters, what the results say of each of
them, and the same as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.spsa.methods import Schedule
from ringmaster.competitions.spsa.state import State
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.report import RIGHT, Cell, Table, Text
from ringmaster.stats.elo import Z95
from ringmaster.tuners.spsa import Interval, Spsa
from ringmaster.tuners.spsa.regression import Fit

_NO_SIGNAL = "not yet"


class Findings(msgspec.Struct, frozen=True):
    """What the results say of one tuned parameter, in its own units.

    optimum, low, high, elo_at_stake, signal  the method's own, or the regression's; None
                                              where they cannot be told
    """

    estimate: float
    mean: float
    fit: Fit
    optimum: float | None
    low: float | None
    high: float | None
    elo_at_stake: float | None
    signal: bool


class TuneReport(msgspec.Struct, frozen=True):
    """A tune as it stands.

    opponents     weights by player code, {} in self-play
    engine_value  what an engine is given for a value of a parameter, by its place
                  among all
    estimated     values of all parameters that the tune has come to, by code, as they
                  are played
    """

    parameters: Sequence[TunedParameter]
    schedule: Schedule
    tuner: Spsa
    state: State
    opponents: Mapping[str, int]
    engine_value: Callable[[int, float], Any]
    estimated: dict[str, int | float]

    def blocks(self) -> list[Table | Text]:
        """Return the report's blocks."""
        found = self._findings()
        blocks: list[Table | Text] = [self._values(found)]
        if self.state.told:
            blocks.append(self._signals(found))
        if self.schedule.derived:
            blocks.append(Text(self.schedule.derived))
        return blocks

    def short(self) -> list[Table | Text]:
        """Return the blocks of the live display."""
        rows: list[tuple[Cell, ...]] = [
            (p.code, _number(p.start), _number(theta), _number(estimate))
            for p, theta, estimate in zip(
                (p for p in self.parameters if not p.frozen),
                self.tuner.theta.tolist(),
                self.tuner.estimate().tolist(),
                strict=True,
            )
        ]
        return [
            Table(
                headers=("parameter", "start", "value", "estimate"),
                rows=tuple(rows),
                title=self._title(),
                notes=tuple(self._results()),
                align=("left", *([RIGHT] * 3)),
            )
        ]

    def data(self) -> dict[str, Any]:
        """Return what `show --json` has of the tune."""
        found = iter(self._findings())
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
                parameters.append(self._data(i, parameter, next(theta), next(found)))
        return {
            "method": self.state.method,
            "iterations": {"told": self.state.told, "planned": self.schedule.iterations},
            "estimate": self._trusted()[0],
            "derived": list(self.schedule.derived),
            "parameters": parameters,
            **self._opponents_data(),
        }

    def _opponents_data(self) -> dict[str, Any]:
        if len(self.opponents) < 2:
            return {}
        names = ("wins", "draws", "losses")
        rows = [
            {"code": code, "weight": self.opponents[code], **dict(zip(names, counts, strict=True))}
            for code, counts in self._against()
        ]
        return {"opponents": rows}

    def _data(
        self, place: int, parameter: TunedParameter, theta: float, found: Findings
    ) -> dict[str, Any]:
        fit = found.fit
        return {
            "code": parameter.code,
            "start": parameter.start,
            "value": theta,
            "mean": found.mean,
            "estimate": found.estimate,
            "engine_value": self.engine_value(place, found.estimate),
            "low": found.low,
            "high": found.high,
            "elo_at_stake": found.elo_at_stake,
            "signal": found.signal,
            "slope": fit.slope,
            "slope_error": Z95 * fit.slope_error if math.isfinite(fit.slope_error) else None,
            "curvature": fit.curvature,
            "optimum": fit.optimum,
            "games_to_halve": fit.games_to_halve,
            "frozen": False,
        }

    def _findings(self) -> list[Findings]:
        """Return what is known of each tuned parameter."""
        tuner = self.tuner
        fits = tuner.fits()
        own = tuner.intervals() if tuner.told else None
        intervals: Sequence[Interval | Fit] = fits if own is None else own
        mean = tuner.averages.mean() if tuner.told else tuner.theta
        best: Iterable[float | None] = [f.optimum for f in fits]
        if own is not None and (known := tuner.method.estimate(tuner.memory)) is not None:
            best = known.tolist()
        found = zip(tuner.estimate().tolist(), mean.tolist(), fits, best, intervals, strict=True)
        return [
            Findings(
                estimate,
                average,
                fit,
                optimum,
                said.low,
                said.high,
                said.elo_at_stake,
                said.signal,
            )
            for estimate, average, fit, optimum, said in found
        ]

    def _title(self) -> str:
        return f"iteration {self.state.told}/{self.schedule.iterations}, {self.state.method}"

    def _results(self) -> list[str]:
        wins, draws, losses = self.state.results
        if not self.opponents:
            return [f"wins {wins}, draws {draws}, losses {losses} of θ+ against θ-"]
        minus = self.state.results_minus
        several = len(self.opponents) > 1
        name = "the opponents" if several else next(iter(self.opponents))
        lines = [
            f"wins {won}, draws {drawn}, losses {lost} of {side} against {name}"
            for side, (won, drawn, lost) in (("θ+", (wins, draws, losses)), ("θ-", minus))
        ]
        if several:
            for code, (won, drawn, lost) in self._against():
                text = f"wins {won}, draws {drawn}, losses {lost} of both against {code}"
                lines.append(f"{text} (weight {self.opponents[code]})")
        return lines

    def _against(self) -> Iterator[tuple[str, list[int]]]:
        """Yield wins, draws and losses of both sides together by opponent."""
        for code in self.opponents:
            yield code, self.state.against.get(code, [0, 0, 0])

    def _trusted(self) -> tuple[str, str]:
        """Return which estimate is trusted, and why."""
        tuner = self.tuner
        if tuner.trust != "auto":
            return tuner.trust, f"the setting `estimate` asks for {_NAMES[tuner.trust]}"
        if tuner.method.estimate(tuner.memory) is not None:
            return "method", f"the one of least expected loss, by method {self.state.method!r}"
        if tuner.told and tuner.averages.drift().settled:
            return "mean", f"{_NAMES['mean']}: θ wanders and no longer moves in one direction"
        why = "θ still moves in one direction" if tuner.told else "there is no result"
        return "last", f"{_NAMES['last']}: {why}"

    def _values(self, found: Sequence[Findings]) -> Table:
        tuner = self.tuner
        k = tuner.counting.k(min(self.state.told + 1, self.schedule.iterations))
        c = iter(tuner.method.c(k, tuner.memory).tolist())
        gains = self.schedule.gains
        R = iter([] if gains is None else gains.R(k).tolist())
        theta, known = iter(tuner.theta.tolist()), iter(found)
        rows: list[tuple[Cell, ...]] = []
        for i, parameter in enumerate(self.parameters):
            if parameter.frozen:
                value = self.estimated[parameter.code]
                cells: list[Cell] = [_number(value), None, "frozen", self._shown(i, value), None]
            else:
                one = next(known)
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
            notes=(*self._results(), f"estimate: {self._trusted()[1]}"),
            align=("left", *([RIGHT] * (len(headers) - (gains is None)))),
        )

    def _shown(self, place: int, value: float) -> str:
        given = self.engine_value(place, value)
        return _number(given) if isinstance(given, float) else str(given)

    def _signals(self, found: Sequence[Findings]) -> Table:
        rows: list[tuple[Cell, ...]] = []
        tuned = [p for p in self.parameters if not p.frozen]
        for parameter, one in zip(tuned, found, strict=True):
            fit = one.fit
            slope: Cell = None
            if math.isfinite(fit.slope_error):
                slope = _with_error(fit.slope, Z95 * fit.slope_error)
            seen: list[Cell] = [None, None]
            if one.optimum is not None:
                seen = [
                    f"{one.optimum:.4g} ({_end(one.low, '…')} to {_end(one.high, '…')})",
                    None if one.elo_at_stake is None else f"{one.elo_at_stake:+z.1f}",
                ]
            halve = None if fit.games_to_halve is None else f"{fit.games_to_halve:,}"
            signal = "yes" if one.signal else _NO_SIGNAL
            rows.append((parameter.code, *seen, signal, slope, halve))
        return Table(
            headers=("parameter", "optimum (95 %)", "at stake", "signal", "Elo/unit", "to halve"),
            rows=tuple(rows),
            title="what the results say of each parameter",
            notes=tuple(_explained(found)),
            align=("left", *([RIGHT] * 5)),
        )


def _explained(found: Sequence[Findings]) -> Iterator[str]:
    """Yield what the columns mean, as far as there is something in them."""
    stakes = [f.elo_at_stake for f in found if f.elo_at_stake is not None]
    if stakes:
        yield (
            "at stake: Elo gained from the start to the estimate, as the results have it; "
            f"{sum(stakes):+z.1f} in all"
        )
    if not all(f.signal for f in found):
        yield f"signal {_NO_SIGNAL}: what the results say of this parameter alone might be chance;"
        yield "  the estimate as a whole may be better than the start all the same"
    yield "Elo/unit: gained by a higher value, at the mean of what was played, ± 95 %"
    if any(f.fit.games_to_halve is not None for f in found):
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
    # no "-0.00"
    value = round(value, digits) + 0.0
    return f"{value:+.{places}f} ± {round(error, digits):.{places}f}"


def _end(value: float | None, without: str) -> str:
    return without if value is None else f"{value:.4g}"
