"""The methods of a tune: their settings, defaults and gain sequences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from ringmaster.errors import SettingError
from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.space import Array, Space
from ringmaster.tuners.spsa.adaptive import Adaptive
from ringmaster.tuners.spsa.method import (
    Annealing,
    Autoselect,
    Blog,
    Classic,
    GainMethod,
    Gains,
    Method,
    WeatherFactory,
    autoselect,
)
from ringmaster.tuners.spsa.perturbation import Counting, Counts

#: Settings of single methods, with their defaults; None: derived from other settings.
DEFAULTS: dict[str, dict[str, Any]] = {
    "adaptive": {},
    "classic": {
        "alpha": 0.602,
        "gamma": 0.101,
        "A": None,
        "A_ratio": 0.1,
        "k_counts": "iterations",
        "update": "realised",
    },
    "constant": {
        "elo_per_parameter": 2.0,
        "precision": 0.5,
        "draw_ratio": 0.61,
        "update": "realised",
    },
    "blog": {"epsilon": 0.0002, "annealing": None, "update": "realised"},
    "weather_factory": {
        "a": 1.0,
        "c": 1.0,
        "A": 1e5,
        "alpha": 0.601,
        "gamma": 0.102,
        "k_counts": "games",
        "update": "realised",
    },
}


class Schedule(msgspec.Struct, frozen=True):
    """The method of a tune, its gains and the number of its iterations.

    iterations  planned iterations
    derived     lines of the report on derived settings
    """

    method: Method
    counting: Counting
    iterations: int
    derived: tuple[str, ...] = ()

    @property
    def gains(self) -> Gains | None:
        """The gain sequences, None for a method without them."""
        return self.method.gains if isinstance(self.method, GainMethod) else None

    def least_c(self) -> list[float]:
        """Return the smallest expected perturbation of each parameter, in its units."""
        space = self.method.space
        if self.gains is None:
            # the perturbation shrinks as results come in
            least = self.method.reach() / 4
        else:
            last = self.method.c(self.counting.length(self.iterations))
            least = np.minimum(self.method.c(self.counting.k(1)), last)
        return (least * space.rate(space.minimum)).tolist()  # type: ignore[no-any-return]  # NumPy says Any

    def warnings(self, parameters: Sequence[TunedParameter]) -> list[str]:
        """Return warnings of perturbations that are probably unintended."""
        lines = []
        first, widths = self.method.c(self.counting.k(1)), self.method.space.width
        for parameter, c, width in zip(parameters, first, widths, strict=True):
            if parameter.integer and parameter.c_end is not None and parameter.c_end < 0.5:
                lines.append(
                    f"parameter {parameter.code!r}: c_end {parameter.c_end:g} is raised to 0.5, "
                    "the smallest perturbation of an integer"
                )
            if 2 * c > width:
                lines.append(
                    f"parameter {parameter.code!r}: its first perturbations (c = {c:.3g}) "
                    f"reach beyond its range of {width:g}"
                )
        return lines


def make_schedule(
    values: Mapping[str, Any],
    parameters: Sequence[TunedParameter],
    space: Space,
    earlier: tuple[tuple[int, int], ...] = (),
) -> Schedule:
    """Return the schedule of settings that have passed `wrong_settings`.

    parameters  the tuned parameters, in the order of `space`
    earlier     see Counting
    Raises SettingError.
    """
    name = values["method"]
    defaults = {name: own for name, own in DEFAULTS[name].items() if values[name] is None}
    values = {**values, **defaults}
    size = values["games_per_iteration"]
    counts: Counts = "games" if name == "blog" else values["k_counts"] or "iterations"
    counting = Counting(counts, size, earlier)
    games, derived = values["number_of_games"], []
    if name == "constant":
        selected = _autoselected(values, parameters, space)
        needed = math.ceil(selected.games / size) * size
        derived += _autoselect_lines(values, selected, needed)
        games = needed if games is None else games
        if games > 10**9:
            text = f"this precision needs {games:.3g} games"
            expected = "a larger precision (Elo lost), or number_of_games"
            raise SettingError(("number_of_games",), text, expected)
    # at least one: an edit may ask for fewer games than were played
    iterations = max(counting.iterations(games), 1)
    method = _make_method(values, parameters, space, counting.length(iterations))
    return Schedule(method, counting, iterations, tuple(derived))


def _make_method(
    values: Mapping[str, Any], parameters: Sequence[TunedParameter], space: Space, N: float
) -> Method:
    """Return the tuner's method for a tune of length N.  Raises SettingError if gains overflow."""
    if values["method"] == "adaptive":
        return Adaptive(space, _distances(parameters, "c_end"))
    with np.errstate(all="ignore"):
        gains = _make_gains(values, parameters, space, N)
        ends = [f(k) for f in (gains.c, gains.R) for k in (1, N)]
    within = np.all([(e > 0) & (e < 1e100) for e in ends], axis=0)
    for ok, parameter in zip(within, parameters, strict=True):
        if not ok:
            place = [p.code for p in values["parameters"]].index(parameter.code)
            raise SettingError(("parameters", place), "its gain sequences overflow")
    return GainMethod(space, gains, nominal=values["update"] == "nominal")


def _arguments(parameters: Sequence[TunedParameter], name: str, default: float) -> Array:
    """Return an argument of each parameter, (n,)."""
    values = [getattr(p, name) for p in parameters]
    return np.array([default if value is None else value for value in values], dtype=np.float64)


def _distances(parameters: Sequence[TunedParameter], name: str) -> Array:
    """Return c_end or step of each parameter on its scale, (n,), NaN without one.

    On a logarithmic scale they are distances at the start.
    """
    values = _arguments(parameters, name, math.nan)
    starts = np.array([p.start if p.scale == "log" else math.nan for p in parameters])
    return np.where(np.isnan(starts), values, np.log1p(values / starts))


def _make_gains(
    values: Mapping[str, Any], parameters: Sequence[TunedParameter], space: Space, N: float
) -> Gains:
    name, c_end = values["method"], _distances(parameters, "c_end")
    if name == "constant":
        return _autoselected(values, parameters, space).gains
    if name == "blog":
        s, epsilon, annealing = Annealing(), Annealing(), values["annealing"]
        if annealing is not None:
            s, epsilon = (Annealing(annealing[f], annealing["games"]) for f in ("s", "epsilon"))
        mobility = values["epsilon"] * _arguments(parameters, "r_end", 1.0)
        return Blog(c_end, mobility, s, epsilon, space.least_c)
    alpha, gamma, A = values["alpha"], values["gamma"], values["A"]
    if name == "classic":
        A = values["A_ratio"] * N if A is None else A
        r_end = _arguments(parameters, "r_end", 0.002)
        return Classic(c_end, r_end, N, alpha, gamma, A, space.least_c)
    a, c, step = values["a"], values["c"], _distances(parameters, "step")
    # so that the last perturbation is c_end
    step = np.where(np.isnan(step), c_end * math.pow(N, gamma) / c, step)
    return WeatherFactory(step, a, c, A, alpha, gamma, space.least_c)


def _autoselected(
    values: Mapping[str, Any], parameters: Sequence[TunedParameter], space: Space
) -> Autoselect:
    """Return the result of Autoselect, with c_end and r_end of the control file."""
    selected = autoselect(
        space, values["elo_per_parameter"], values["precision"], values["draw_ratio"]
    )
    c, r = _distances(parameters, "c_end"), _arguments(parameters, "r_end", math.nan)
    if np.isnan(c).all() and np.isnan(r).all():
        return selected
    c = np.maximum(np.where(np.isnan(c), selected.c, c), space.least_c)
    r = np.where(np.isnan(r), selected.r, r)
    # λ is proportional to 1/(r·c²)
    lambdas = selected.lambdas * (selected.r / r) * np.square(selected.c / c)
    return Autoselect(c, r, lambdas, math.ceil(3 * float(lambdas.max())))


def _autoselect_lines(values: Mapping[str, Any], selected: Autoselect, needed: int) -> list[str]:
    r = ", ".join(dict.fromkeys(f"{x:.3g}" for x in selected.r.tolist()))
    games = values["number_of_games"]
    lines = [
        f"method 'constant': {values['elo_per_parameter']:g} Elo a parameter, a precision of "
        f"{values['precision']:g} Elo and a draw ratio of {values['draw_ratio']:g} give r = {r} "
        f"and {needed:,} games (three time constants of {needed / 3:,.0f})"
    ]
    if games is not None:
        lines.append(f"number_of_games is {games:,} instead")
    return lines
