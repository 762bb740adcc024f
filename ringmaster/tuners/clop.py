"""Confident local optimisation: sample where a quadratic model is not confidently below average.

R. Coulom, "CLOP: Confident Local Optimization for Noisy Black-Box Parameter Tuning", Advances
in Computer Games 13, 2011.  A quadratic q is fitted to results by logistic regression.  Samples
whose strength is confidently below the mean get less weight, and the fit is repeated with these
weights, until they hardly change:

    w(x) = min over rounds of (1, exp((q(x) − m)/(H·s)))

with m the weighted mean of q over the samples, and s its standard error.  The next sample is
drawn with a density proportional to w.

CLOP's estimate is the mean of all samples by w.  Here samples surely above the mean have more
weight, w·exp((q(x) − m)/sd(q(x) − m)): the estimate gets away from the middle of a flat region
sooner (`benchmarks/clop_benchmark_b.py`).  The standard deviation is that of q(x) − m at each
sample.  With s in its place a few samples far out have all the weight, since with many
parameters q is much less sure there than its mean.

A draw is half a win.  It carries less noise than a win or a loss, so draws make s smaller.
"""

from __future__ import annotations

import base64
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.model.parameters import rounded
from ringmaster.model.randomness import CLOP_STREAM, word_array
from ringmaster.tuners.space import Array

#: Number of places in a range; a place is stored in three bytes.
PLACES = 1 << 24
#: Precision of the Gaussian prior of each coefficient, in coordinates from −1 to 1.
PRIOR = 0.01
#: Growth of the number of games between two fits.
GROWTH = 1.1
#: Least fall of the total weight in a round that is followed by another one; most rounds.
LEAST_FALL, MOST_ROUNDS = 0.01, 100
#: Samples drawn together: sweeps over the coordinates, and tries for each coordinate.
BLOCK, SWEEPS, TRIES = 64, 4, 30
#: Logarithm of a weight that does not count in a fit.
_NO_WEIGHT = -14.0
#: Rows of a design matrix at a time.
_CHUNK = 4096
#: Least share of the variance that draws leave.
_LEAST_DISPERSION = 0.05
#: Newton steps, and the gain of log posterior that ends them.
_MOST_STEPS, _PRECISION = 50, 1e-9
_BYTES = 3
_TO_DIGITS = bytes.maketrans(bytes(range(3)), b"012")
_FROM_DIGITS = bytes.maketrans(b"012", bytes(range(3)))


class Axis(msgspec.Struct, frozen=True):
    """The range of a parameter.

    Its coordinate is −1 at the minimum and 1 at the maximum, linear in the value or in the
    value's logarithm.  Integers are rounded, so their ranges are wider by one half at each end.
    """

    minimum: float
    maximum: float
    integer: bool = False
    logarithmic: bool = False

    def coordinate(self, value: float) -> float:
        """Return the coordinate of a value."""
        low, high = self.minimum, self.maximum
        if self.logarithmic:
            return 2 * math.log(value / low) / math.log(high / low) - 1
        return 2 * (value - low) / (high - low) - 1

    def exact(self, coordinate: float) -> float:
        """Return the value of a coordinate, within the bounds."""
        low, high = self.minimum, self.maximum
        share = (coordinate + 1) / 2
        if self.logarithmic:
            value = low * math.exp(share * math.log(high / low))
        else:
            value = low + share * (high - low)
        return min(max(value, low), high)

    def round(self, value: float) -> int | float:
        """Return a value as it is played: an integer, or a number with few digits."""
        if self.integer:
            return rounded(value)
        if self.logarithmic:
            value = float(f"{value:.6g}")
        else:
            value = round(value, 5 - math.floor(math.log10(self.maximum - self.minimum)))
        return min(max(value, self.minimum), self.maximum)

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest coordinate of a sample."""
        if not self.integer:
            return -1.0, 1.0
        return self.coordinate(self.minimum - 0.5), self.coordinate(self.maximum + 0.5)

    def played(self, place: int) -> int | float:
        """Return the value of a place in the range, from 0 to PLACES − 1."""
        low, high = self.ends
        return self.round(self.exact(low + (place + 0.5) / PLACES * (high - low)))


class Quadratics(msgspec.Struct, frozen=True, eq=False):
    """The rounds of a fit: K rounds, n coordinates.

    constant  (K,)
    slope     (K, n)
    bend      symmetric, (K, n, n): q(x) = constant + slope·x + x·bend·x
    mean      m, (K,)
    scale     H·s, (K,)
    """

    constant: Array
    slope: Array
    bend: Array
    mean: Array
    scale: Array

    def strengths(self, x: Array) -> Array:
        """Return (q − m)/(H·s) of points (N, n) as (N, K)."""
        n = x.shape[1]
        squares = (x @ self.bend.transpose(1, 0, 2).reshape(n, -1)).reshape(len(x), -1, n)
        q = x @ self.slope.T + np.einsum("nkj,nj->nk", squares, x)
        strengths: Array = (q + (self.constant - self.mean)) / self.scale
        return strengths

    def log_weights(self, x: Array) -> Array:
        """Return log w of points (N, n), (N,)."""
        return np.concatenate(
            [self.strengths(x[chunk]).min(axis=1, initial=0.0) for chunk in _chunks(x)]
        )

    def draw(self, x: Array, low: Array, high: Array, uniform: Array) -> Array:
        """Return points after Gibbs sweeps, with a density proportional to the weight.

        Each coordinate is drawn by slice sampling with shrinkage (R. M. Neal, "Slice sampling",
        Annals of Statistics 31(3), 2003, section 4.1).

        x          start points, (B, n)
        low, high  ends of the coordinates, (n,)
        uniform    random numbers from 0 to 1, (sweeps, n, 1 + tries, B)
        """
        x = x.copy()
        for sweep in uniform:
            for i, numbers in enumerate(sweep):
                # (q − m)/(H·s) = s + d·h + a·h² at a distance h along the coordinate
                s = self.strengths(x)
                d = (self.slope[:, i] + 2 * x @ self.bend[:, i].T) / self.scale
                a = self.bend[:, i, i] / self.scale
                level = s.min(axis=1, initial=0.0) + np.log1p(-numbers[0])
                start = x[:, i].copy()
                left, right = np.full_like(start, low[i]), np.full_like(start, high[i])
                searching = np.ones(len(x), dtype=bool)
                for u in numbers[1:]:
                    t = left + u * (right - left)
                    h = (t - start)[:, np.newaxis]
                    inside = searching & ((s + h * (d + a * h)).min(axis=1) >= level)
                    x[inside, i] = t[inside]
                    searching &= ~inside
                    if not searching.any():
                        break
                    left = np.where(t < start, t, left)
                    right = np.where(t < start, right, t)
        return x

    def data(self) -> dict[str, Any]:
        """Return the rounds as JSON data."""
        return {name: getattr(self, name).tolist() for name in self.__struct_fields__}


class Regression:
    """Weighted MAP logistic regression on a quadratic of n coordinates.

    all_pairs  whether q has products of two coordinates
    """

    def __init__(self, n: int, all_pairs: bool) -> None:
        self._n = n
        self._pairs = np.triu_indices(n) if all_pairs else (np.arange(n), np.arange(n))
        #: Number of coefficients.
        self.size = 1 + n + len(self._pairs[0])

    def features(self, x: Array) -> Array:
        """Return the design matrix of points (N, n): 1, coordinates, products; (N, size)."""
        first, second = self._pairs
        return np.concatenate([np.ones((len(x), 1)), x, x[:, first] * x[:, second]], axis=1)

    def split(self, coefficients: Array) -> tuple[float, Array, Array]:
        """Return constant, slope and bend of coefficients (size,)."""
        n = self._n
        bend = np.zeros((n, n))
        bend[self._pairs] = coefficients[1 + n :] / 2
        return float(coefficients[0]), coefficients[1 : 1 + n], bend + bend.T

    def columns(self, i: int) -> list[int]:
        """Return the indices of the coefficients that depend on coordinate i."""
        products = zip(*self._pairs, strict=True)
        return [1 + i, *(1 + self._n + k for k, pair in enumerate(products) if i in pair)]

    def maximise(self, x: Array, y: Array, w: Array, start: Array) -> tuple[Array, Array]:
        """Return the MAP coefficients, (size,), and the Hessian of −log posterior there.

        x  points, (N, n)      y  results: 0, ½ or 1, (N,)      w  weights, (N,)

        Newton's method; a step that lowers the posterior is halved.
        """
        c = start
        value, gradient, hessian = self._derivatives(x, y, w, c)
        for _ in range(_MOST_STEPS):
            step = np.linalg.solve(hessian, gradient)
            if float(gradient @ step) < _PRECISION:
                break
            following = self._derivatives(x, y, w, c + step)
            while following[0] < value - _PRECISION:
                step = step / 2
                following = self._derivatives(x, y, w, c + step)
            c = c + step
            value, gradient, hessian = following
        return c, hessian

    def mean_features(self, x: Array, w: Array) -> Array:
        """Return the weighted mean of the rows of the design matrix, (size,)."""
        total = np.zeros(self.size)
        for chunk in _chunks(x):
            total += w[chunk] @ self.features(x[chunk])
        return total / float(w.sum())

    def advantages(self, x: Array, c: Array, covariance: Array, mean: Array) -> Array:
        """Return (q − m)/sd(q − m) of points (N, n), (N,).

        c, covariance  coefficients and their covariance      mean  features with q = m
        """
        advantages = []
        for chunk in _chunks(x):
            d = self.features(x[chunk]) - mean
            variance = np.einsum("ni,ni->n", d @ covariance, d)
            # a single game is the mean itself
            advantages.append(d @ c / np.sqrt(np.maximum(variance, 1e-18)))
        return np.concatenate(advantages)

    def _derivatives(self, x: Array, y: Array, w: Array, c: Array) -> tuple[float, Array, Array]:
        """Return the log posterior at c, its gradient and its negative Hessian."""
        value = -PRIOR / 2 * float(c @ c)
        gradient = -PRIOR * c
        hessian = PRIOR * np.eye(self.size)
        for chunk in _chunks(x):
            f, wc, yc = self.features(x[chunk]), w[chunk], y[chunk]
            q = f @ c
            p = logistic(q)
            # log σ(q) = q − log(1 + exp q)
            value += float(wc @ (yc * q - np.logaddexp(0, q)))
            gradient += (wc * (yc - p)) @ f
            hessian += (f * (wc * p * (1 - p))[:, np.newaxis]).T @ f
        return value, gradient, hessian


def _chi_square(k: int) -> float:
    """Return the 95 % quantile of χ² with k degrees of freedom, within 3 %, without SciPy.

    E. B. Wilson and M. M. Hilferty, "The distribution of chi-square", PNAS 17(12), 1931.
    """
    return k * (1 - 2 / (9 * k) + 1.6449 * math.sqrt(2 / (9 * k))) ** 3


def _chunks(x: Array) -> Iterator[slice]:
    for begin in range(0, len(x), _CHUNK):
        yield slice(begin, begin + _CHUNK)


def logistic(q: Array) -> Array:
    """Return 1/(1 + exp −q), without overflow."""
    p: Array = 0.5 * (1 + np.tanh(q / 2))
    return p


def fit(x: Array, y: Array, H: float, all_pairs: bool) -> Quadratics:
    """Return the rounds of a fit.

    x  coordinates of each game, (N, n)      y  its result: 0, ½ or 1, (N,)
    """
    regression = Regression(x.shape[1], all_pairs)
    c = np.zeros(regression.size)
    log_weights = np.zeros(len(x))
    rounds = []
    for _ in range(MOST_ROUNDS):
        w = np.exp(log_weights)
        total = float(w.sum())
        c, _ = regression.maximise(x, y, w, c)
        q = np.concatenate([regression.features(x[chunk]) @ c for chunk in _chunks(x)])
        p = logistic(q)
        mean = float(w @ q) / total
        information = float(w @ (p * (1 - p)))
        drawn = float(w @ (y * (1 - y)))
        dispersion = max(1 - drawn / information, _LEAST_DISPERSION)
        scale = H * math.sqrt(dispersion / information)
        rounds.append((*regression.split(c), mean, scale))
        log_weights = np.minimum(log_weights, (q - mean) / scale)
        if float(np.exp(log_weights).sum()) > (1 - LEAST_FALL) * total:
            break
        used = log_weights > _NO_WEIGHT
        x, y, log_weights = x[used], y[used], log_weights[used]
    return Quadratics(*(np.array(column) for column in zip(*rounds, strict=True)))


class Finding(msgspec.Struct, frozen=True):
    """The results for one parameter, in its own units.

    estimate   not rounded
    low, high  of the region, which holds 95 % of the weight of all games
    signal     whether the results show an effect of the parameter, with 95 % confidence
    """

    estimate: float
    low: float
    high: float
    signal: bool


class Clop:
    """The tuner: ask for the places of a sample, tell a game's result.

    Samples depend on settings, seed, their numbers and earlier results only.
    """

    def __init__(
        self, axes: Sequence[Axis], *, seed: int, H: float = 3.0, all_pairs: bool = True
    ) -> None:
        self.axes = tuple(axes)
        self._seed, self._H, self._all_pairs = seed, H, all_pairs
        self._regression = Regression(len(self.axes), all_pairs)
        self._clear()

    def _clear(self) -> None:
        #: Of all games: places, three bytes each; coordinates; twice the points.
        self._places = bytearray()
        self._coordinates = array("d")
        self._results = bytearray()
        #: The last fit, and the number of games that it knows.
        self._fit: Quadratics | None = None
        self._fitted = 0
        #: Running sum of the weights of these games.
        self._summed: Array | None = None
        #: Of the first games by the last fit: see `Quadratics.log_weights`,
        #: `Regression.advantages`; and the arguments of the latter.
        self._logs, self._gains = np.zeros(0), np.zeros(0)
        self._local: tuple[Array, Array, Array] | None = None
        #: The estimate of a number of games, as coordinates; whether each parameter has an
        #: effect, by the last fit's games.
        self._means: tuple[int, list[float]] = (0, [])
        self._signs: list[bool] | None = None
        #: Number of a block of samples, and their places.
        self._block: tuple[int, list[list[int]]] = (-1, [])

    def __len__(self) -> int:
        """Return the number of games."""
        return len(self._results)

    def played(self, places: Sequence[int]) -> list[int | float]:
        """Return the values of a sample."""
        return [axis.played(place) for axis, place in zip(self.axes, places, strict=True)]

    # samples

    def ask(self, number: int) -> list[int]:
        """Return the places of sample `number`: for each parameter, from 0 to PLACES − 1."""
        block, index = divmod(number, BLOCK)
        if self._block[0] != block:
            self._block = block, self._samples(block).tolist()
        return list(self._block[1][index])

    def _samples(self, block: int) -> npt.NDArray[np.int64]:
        """Return the places of a block of samples, (BLOCK, n)."""
        n = len(self.axes)
        if self._fit is None:
            words = word_array(self._seed, CLOP_STREAM, block, BLOCK * n)
            return (words >> np.uint64(40)).astype(np.int64).reshape(BLOCK, n)
        x = self._x()[: self._fitted]
        if self._summed is None:
            self._summed = np.cumsum(np.exp(self._fit.log_weights(x)))
        shape = (SWEEPS, n, 1 + TRIES, BLOCK)
        words = word_array(self._seed, CLOP_STREAM, block, BLOCK + math.prod(shape))
        uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
        # earlier samples by weight have about the density of the next ones
        first = np.searchsorted(self._summed, uniform[:BLOCK] * self._summed[-1], side="right")
        start = x[np.minimum(first, self._fitted - 1)]
        low, high = np.array([axis.ends for axis in self.axes]).T
        points = self._fit.draw(start, low, high, uniform[BLOCK:].reshape(shape))
        places: npt.NDArray[np.int64] = np.floor((points - low) / (high - low) * PLACES).astype(
            np.int64
        )
        return np.minimum(places, PLACES - 1)

    # results

    def tell(self, places: Sequence[int], points: float) -> None:
        """Learn from a game: 1 for a win of the sample, ½ or 0."""
        self._add(places, round(2 * points))
        if len(self) >= max(self._fitted + 1, math.ceil(GROWTH * self._fitted)):
            self._fit = fit(self._x(), self._y(), self._H, self._all_pairs)
            self._fitted = len(self)
            self._summed, self._block = None, (-1, [])
            self._logs, self._gains = np.zeros(0), np.zeros(0)
            self._local = self._signs = None

    def _add(self, places: Sequence[int], result: int) -> None:
        for axis, place in zip(self.axes, places, strict=True):
            self._places += place.to_bytes(_BYTES, "little")
            self._coordinates.append(axis.coordinate(axis.played(place)))
        self._results.append(result)

    def _x(self) -> Array:
        """Return the coordinates of all games, (N, n)."""
        # a copy: a view would lock the growing array
        return np.array(self._coordinates).reshape(-1, len(self.axes))

    def _y(self) -> Array:
        """Return the points of all games, (N,)."""
        return np.frombuffer(bytes(self._results), dtype=np.uint8) / 2

    # estimates

    def _log_weights(self) -> Array:
        """Return `Quadratics.log_weights` of all games, also of those after the last fit."""
        known = len(self._logs)
        if self._fit is not None and known < len(self):
            later = self._fit.log_weights(self._x()[known:])
            self._logs = np.concatenate([self._logs, later])
        return self._logs

    def _advantages(self) -> Array:
        """Return `Regression.advantages` of all games, with a regression by their weights."""
        known = len(self._gains)
        if known < len(self):
            if self._local is None:
                logs = self._log_weights()[: self._fitted]
                used = np.flatnonzero(logs > _NO_WEIGHT)
                x, w = self._x()[used], np.exp(logs[used])
                c, covariance = self._regress(x, self._y()[used], w)
                self._local = c, covariance, self._regression.mean_features(x, w)
            later = self._regression.advantages(self._x()[known:], *self._local)
            self._gains = np.concatenate([self._gains, later])
        return self._gains

    def _regress(self, x: Array, y: Array, w: Array) -> tuple[Array, npt.NDArray[Any]]:
        """Return coefficients and their covariance; see `Regression.maximise`."""
        start = np.zeros(self._regression.size)
        c, hessian = self._regression.maximise(x, y, w, start)
        return c, np.linalg.inv(hessian)

    def estimate(self) -> list[float] | None:
        """Return the estimate in the parameters' units, not rounded; None without a game.

        The mean of all samples by their weights, which grow with the advantage.
        """
        if self._fit is None:
            return None
        if self._means[0] != len(self):
            weights = np.exp(self._log_weights() + np.maximum(self._advantages(), 0))
            self._means = len(self), (weights @ self._x() / weights.sum()).tolist()
        return [axis.exact(mean) for axis, mean in zip(self.axes, self._means[1], strict=True)]

    def findings(self) -> list[Finding]:
        """Return the results for each parameter; [] without a game."""
        estimate = self.estimate()
        if estimate is None:
            return []
        x, weights, signals = self._x(), np.exp(self._log_weights()), self._signals()
        findings = []
        for i, axis in enumerate(self.axes):
            order = np.argsort(x[:, i], kind="stable")
            summed = np.cumsum(weights[order])
            ends = np.searchsorted(summed, np.array([0.025, 0.975]) * summed[-1])
            low, high = (axis.exact(end) for end in x[order[ends], i].tolist())
            findings.append(Finding(estimate[i], low, high, signals[i]))
        return findings

    def _signals(self) -> list[bool]:
        """Return whether the results depend on each parameter.

        A Wald test of the parameter's coefficients, fitted to all games of the last fit with
        equal weights.
        """
        if self._signs is not None:
            return self._signs
        x, y = self._x()[: self._fitted], self._y()[: self._fitted]
        c, covariance = self._regress(x, y, np.ones(len(x)))
        signals = []
        for i in range(x.shape[1]):
            columns = self._regression.columns(i)
            own = covariance[np.ix_(columns, columns)]
            wald = float(c[columns] @ np.linalg.solve(own, c[columns]))
            signals.append(wald > _chi_square(len(columns)))
        self._signs = signals
        return signals

    def local(self) -> tuple[float, float]:
        """Return the weight of all games, and their weighted share of points.

        The share is biased upwards, since the weights depend on the results.
        """
        weights = np.exp(self._log_weights())
        total = float(weights.sum())
        return total, float(weights @ self._y()) / total

    # for charts

    def games(self) -> tuple[Array, Array]:
        """Return the coordinates of all games, (N, n), and their points, (N,)."""
        return self._x(), self._y()

    def first(self, games: int) -> Clop:
        """Return a tuner that knows the first games only; one or more."""
        n = len(self.axes)
        clop = Clop(self.axes, seed=self._seed, H=self._H, all_pairs=self._all_pairs)
        clop._places = self._places[: games * n * _BYTES]
        clop._coordinates = self._coordinates[: games * n]
        clop._results = self._results[:games]
        clop._fit = fit(clop._x(), clop._y(), self._H, self._all_pairs)
        clop._fitted = games
        return clop

    def win_rates(self, x: Array) -> tuple[Array, Array]:
        """Return the fitted share of points at coordinates (N, n), and their weights; (N,) each.

        The fit is of the games by their weights, so it holds where a weight is not small.
        """
        _ = self._advantages()
        assert self._local is not None
        assert self._fit is not None
        rates = logistic(self._regression.features(x) @ self._local[0])
        return rates, np.exp(self._fit.log_weights(x))

    def effects(self, at: Array, steps: int = 41) -> Array:
        """Return the range of the win rate along each parameter through a point (n,).

        By a fit to all games with equal weights, (n,).
        """
        x, y = self._x()[: self._fitted], self._y()[: self._fitted]
        c, _ = self._regress(x, y, np.ones(len(x)))
        ranges = []
        for i, axis in enumerate(self.axes):
            points = np.tile(at, (steps, 1))
            points[:, i] = np.linspace(*axis.ends, steps)
            ranges.append(float(np.ptp(logistic(self._regression.features(points) @ c))))
        return np.array(ranges)

    # state

    def state(self) -> dict[str, Any]:
        """Return the state as JSON data, with four bytes a value and one a result."""
        return {
            "places": base64.b64encode(self._places).decode(),
            "results": self._results.translate(_TO_DIGITS).decode(),
            "fitted": self._fitted,
            "fit": None if self._fit is None else self._fit.data(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Load a state.  Raises ValueError, KeyError, TypeError for a wrong one."""
        self._clear()
        n = len(self.axes)
        parts = np.frombuffer(base64.b64decode(state["places"]), dtype=np.uint8)
        places = parts.reshape(-1, n, _BYTES).astype(np.int64) @ np.array([1, 256, 65536])
        results = state["results"].encode().translate(_FROM_DIGITS)
        for one, result in zip(places.tolist(), results, strict=True):
            self._add(one, result)
        self._fitted = state["fitted"]
        if state["fit"] is not None:
            self._fit = Quadratics(**{k: np.array(v) for k, v in state["fit"].items()})
