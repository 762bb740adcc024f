"""Estimates of scores from all trials together: the posterior of a Gaussian process.

The score of a candidate is a smooth function of its values, plus the chance of its games.  The
estimate of a trial therefore leans on trials with similar values, and the luckiest of many equal
trials is drawn back to the others (Rasmussen and Williams, "Gaussian Processes for Machine
Learning", 2006, equations 2.25, 2.26 and 5.9).

The kernel is Matérn's with ν = 5/2 and a length for each parameter.  Lengths and amplitude
maximise the posterior; ln length is normal about ln(√d/2) for d parameters (the distance of two
random points grows with √d), ln amplitude about ln 0.05.  The variance of chance comes from the
results within trials.  Only `FITTED` trials fit the lengths, and `MOST` make an estimate: the
cost is cubic.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.tuners.search.space import Space, Values

Array = npt.NDArray[np.float64]

#: Most trials that fit the lengths, and most that make an estimate: the start and the latest.
FITTED, MOST = 200, 1000
#: Trials at the first fit; each further fit has this many times as many.
_FIRST_FIT, _GROWTH = 8, 1.25
#: Prior of ln length (its mean is ln(√d/2)) and ln amplitude, as normal distributions.
_LENGTH_SPREAD, _AMPLITUDE, _AMPLITUDE_SPREAD = 0.7, math.log(0.05), 1.0
#: Variance of the mean score of all candidates, about ½: nearly any.
_OFFSET = 0.25
#: Pairs' variance before any result, and its weight in pairs.
_PAIR_VARIANCE, _PAIR_WEIGHT = 0.08, 8
_JITTER = 1e-8
#: Random points for the importance of parameters.
_POINTS = 256
_ITERATIONS = 40
#: Least difference of the best and the worst estimate in its standard deviations, for the
#: importance of parameters.
_SIGNAL = 3.0
#: For the importance of a parameter: fewest trials that have it, and the least share of its range
#: that their values span.
_TRIALS, _SPAN = 5, 0.1


class Observation(msgspec.Struct, frozen=True):
    """The results of a finished trial.

    counts  its pairs of games by score, from 0 to 1 at equal distances; () for a known score
    """

    values: tuple[int | float | None, ...]
    score: float
    counts: tuple[int, ...] = ()

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return sum(self.counts)


class Estimate(msgspec.Struct, frozen=True):
    """A score with its standard deviation."""

    score: float
    deviation: float


class Surrogate:
    """The posterior of the scores of all trials."""

    def __init__(
        self,
        space: Space,
        observations: Sequence[Observation],
        earlier: Surrogate | None = None,
    ) -> None:
        """Fit the scores of one or more trials.

        observations  in the order in which the trials ended, which decides when lengths are
                      fitted
        earlier       the posterior of the first of these trials, to save time
        """
        self._space = space
        #: Index in `observations` of each row.
        self.rows = _latest(len(observations), MOST)
        used = [observations[i] for i in self.rows]
        variance = pair_variance(observations)
        self._points = _points(space, [o.values for o in used])
        self._noise = np.array([variance / o.pairs if o.pairs else 0.0 for o in used]) + _JITTER
        scores = np.array([o.score for o in used]) - 0.5
        self._fit_size = _fit_size(len(observations))
        with _one_thread():
            if earlier is not None and earlier._fit_size == self._fit_size:
                self._parameters: Array = earlier._parameters
            else:
                self._parameters = self._fit(observations[: self._fit_size])
            kernel = self._kernel(self._points, self._points)
            self._inverse, _ = _inverse(kernel + np.diag(self._noise))
            self._weights = self._inverse @ scores
        # K(K + N)⁻¹y = y − N(K + N)⁻¹y
        self._means = 0.5 + scores - self._noise * self._weights

    def _covariance(self, row: int, other: int) -> float:
        """Return K − K(K + N)⁻¹K = N − N(K + N)⁻¹N at two rows."""
        noise = self._noise
        own = noise[row] if row == other else 0.0
        return float(own - noise[row] * noise[other] * self._inverse[row, other])

    @functools.cached_property
    def estimates(self) -> list[Estimate]:
        """The estimates of the trials in `rows`, between 0 and 1."""
        return [
            Estimate(min(max(mean, 0.0), 1.0), math.sqrt(max(self._covariance(row, row), 0)))
            for row, mean in enumerate(self._means.tolist())
        ]

    @functools.cached_property
    def ranking(self) -> list[int]:
        """The rows by their estimates, the highest first."""
        means: list[float] = self._means.tolist()
        return sorted(range(len(means)), key=lambda row: (-means[row], row))

    @property
    def best(self) -> int:
        """The row of the highest estimate."""
        return self.ranking[0]

    def gain(self, row: int, other: int) -> Estimate:
        """Return the difference of two rows' scores."""
        cov = self._covariance
        variance = cov(row, row) + cov(other, other) - 2 * cov(row, other)
        return Estimate(float(self._means[row] - self._means[other]), math.sqrt(max(variance, 0)))

    def importance(self) -> dict[str, float]:
        """Return the share of the estimated scores' variance that needs each parameter.

        {} while the best and the worst estimate differ less than their errors.  Parameters
        without a variety of values in the trials are left out: their effect is not known.

        The shares are total effects, by Jansen's estimator ("Analysis of variance designs for
        model output", 1999), and may add up to more than 1.
        """
        gain = self.gain(self.best, self.ranking[-1])
        if gain.score <= _SIGNAL * gain.deviation:
            return {}
        random = np.random.Generator(np.random.Philox(key=1))
        one, other = (self._random_points(random) for _ in range(2))
        effects = {}
        with _one_thread():
            base = self._mean(self._masked(one))
            variance = float(np.var(base))
            for i in self._space.searched:
                if not self._is_varied(i):
                    continue
                mixed = one.copy()
                mixed[:, i] = other[:, i]
                changes = self._mean(self._masked(mixed)) - base
                effect = float(np.mean(changes * changes)) / 2
                # by chance of the points, a share may exceed 1
                share = min(effect / variance, 1.0) if variance > 1e-12 else 0.0
                effects[self._space.dimensions[i].code] = share
        return effects

    def _is_varied(self, i: int) -> bool:
        """Return whether some trials have different values of a dimension."""
        values = self._points[:, i]
        values = values[np.isfinite(values)]
        least = 1 if self._space.dimensions[i].choices else _SPAN
        return len(values) >= _TRIALS and bool(np.ptp(values) >= least)

    def _mean(self, points: Array) -> Array:
        result: Array = self._kernel(points, self._points) @ self._weights
        return result

    def _random_points(self, random: np.random.Generator) -> Array:
        """Return points with a place from 0 to 1 for each number, and an index for each choice."""
        points = random.random((_POINTS, len(self._space.dimensions)))
        for i, d in enumerate(self._space.dimensions):
            if d.fixed:
                points[:, i] = d.start if d.choices else d.place(d.start)
            elif d.choices:
                points[:, i] = np.floor(points[:, i] * (d.high + 1))
        return points

    def _masked(self, points: Array) -> Array:
        """Return points with NaN for dimensions that do not exist."""
        masked = points.copy()
        for i, d in enumerate(self._space.dimensions):
            for index, choices in d.only_if:
                masked[~np.isin(masked[:, index], choices), i] = np.nan
        return masked

    def _kernel(self, one: Array, other: Array) -> Array:
        return _kernel(_squares(self._space, one, other), self._parameters)[0]

    def _fit(self, observations: Sequence[Observation]) -> Array:
        """Return ln length of each searched dimension, then ln amplitude."""
        dimensions = len(self._space.searched)
        start = np.array([math.log(math.sqrt(dimensions) / 2)] * dimensions + [_AMPLITUDE])
        if not observations:
            return start
        variance = pair_variance(observations)
        fitted = [observations[i] for i in _latest(len(observations), FITTED)]
        points = _points(self._space, [o.values for o in fitted])
        noise = np.array([variance / o.pairs if o.pairs else 0.0 for o in fitted]) + _JITTER
        loss = functools.partial(
            _loss,
            squares=_squares(self._space, points, points),
            noise=noise,
            scores=np.array([o.score for o in fitted]) - 0.5,
            prior=start,
        )
        # imports half a second of SciPy, with another library of linear algebra
        from scipy.optimize import minimize

        bounds = [(x - 4, x + 4) for x in start.tolist()]
        options = {"maxiter": _ITERATIONS}
        with _one_thread():
            solution = minimize(
                loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
            )
        parameters: Array = solution.x
        return parameters


def pair_variance(observations: Sequence[Observation]) -> float:
    """Return the variance of a pair's score within a trial."""
    squares, freedom = _PAIR_VARIANCE * _PAIR_WEIGHT, float(_PAIR_WEIGHT)
    for o in observations:
        if o.pairs > 1:
            last = len(o.counts) - 1
            squares += sum(n * (i / last - o.score) ** 2 for i, n in enumerate(o.counts))
            freedom += o.pairs - 1
    return squares / freedom


def _fit_size(trials: int) -> int:
    """Return the number of first trials that fit the lengths, 0 for too few.

    It does not grow with each trial: a fit costs more than an estimate.
    """
    if trials < _FIRST_FIT:
        return 0
    times = math.floor(math.log(trials / _FIRST_FIT) / math.log(_GROWTH) + 1e-9)
    return math.ceil(_FIRST_FIT * _GROWTH**times)


def _latest(count: int, most: int) -> list[int]:
    """Return the indices of the first trial and the latest, `most` in all."""
    if count <= most:
        return list(range(count))
    return [0, *range(count - most + 1, count)]


def _points(space: Space, values: Sequence[Values]) -> Array:
    """Return places in the ranges, indices of choices, and NaN for no value, (n, dimensions)."""
    rows = [
        [
            math.nan if value is None else float(value) if d.choices else d.place(value)
            for d, value in zip(space.dimensions, row, strict=True)
        ]
        for row in values
    ]
    return np.array(rows, dtype=np.float64)


def _squares(space: Space, one: Array, other: Array) -> Array:
    """Return squared distances by searched dimension, (dimensions, n, m).

    The distance of two choices is 1, as is that of a value and no value.
    """
    layers = []
    for i in space.searched:
        a, b = one[:, i, np.newaxis], other[np.newaxis, :, i]
        if space.dimensions[i].choices:
            square = (a != b).astype(np.float64)
        else:
            square = (a - b) ** 2
        if space.dimensions[i].conditional:
            no_a, no_b = np.isnan(a), np.isnan(b)
            square = np.where(no_a & no_b, 0.0, np.where(no_a | no_b, 1.0, square))
        layers.append(square)
    return np.stack(layers)


def _kernel(squares: Array, parameters: Array) -> tuple[Array, Array, Array]:
    """Return the kernel, its smooth part, and the latter's derivative by the squared distance."""
    weights, variance = np.exp(-2 * parameters[:-1]), math.exp(2 * parameters[-1])
    distance = np.sqrt(5 * np.tensordot(weights, squares, axes=1))
    decay = variance * np.exp(-distance)
    smooth = (1 + distance + distance * distance / 3) * decay
    return smooth + _OFFSET, smooth, -5 / 6 * (1 + distance) * decay


def _loss(
    parameters: Array, squares: Array, noise: Array, scores: Array, prior: Array
) -> tuple[float, Array]:
    """Return −ln posterior of the kernel's parameters, and its gradient."""
    kernel, smooth, slope = _kernel(squares, parameters)
    inverse, half_log = _inverse(kernel + np.diag(noise))
    weights = inverse @ scores
    spread = np.array([_LENGTH_SPREAD] * len(squares) + [_AMPLITUDE_SPREAD])
    away = (parameters - prior) / spread
    loss = scores @ weights / 2 + half_log + away @ away / 2
    change = (inverse - np.outer(weights, weights)) / 2
    by_square = change * slope
    lengths = -2 * np.exp(-2 * parameters[:-1]) * np.tensordot(squares, by_square, axes=2)
    gradient = np.append(lengths, 2 * (change * smooth).sum()) + away / spread
    return float(loss), gradient


def _inverse(matrix: Array) -> tuple[Array, float]:
    """Return the inverse of a positive definite matrix, and half the ln of its determinant."""
    half_log = float(np.log(np.diag(np.linalg.cholesky(matrix))).sum())
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64), half_log


def _one_thread() -> contextlib.AbstractContextManager[Any]:
    """Return a context in which linear algebra has one thread.

    Several threads wait for each other while engines use the CPUs, for seconds.  Without
    threadpoolctl, of the extra `tuners`, the context does nothing.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return contextlib.nullcontext()
    context: contextlib.AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return context
