"""Estimates of scores from all trials together: the posterior of a Gaussian process.

The score of a candidate is a smooth function of its values, plus the chance of its games.  The
estimate of a trial therefore leans on trials with similar values, and the luckiest of many equal
trials is drawn back to the others (Rasmussen and Williams, "Gaussian Processes for Machine
Learning", 2006, equations 2.25, 2.26 and 5.9).  The variance of chance comes from the results
within trials.

scikit-learn takes a second to import; only a new `Surrogate` imports it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.errors import RingmasterError
from ringmaster.tuners.search.space import Dimension, Space, Values
from ringmaster.tuners.space import Array

#: Most trials that fit the kernel, and most that make an estimate: the start and the latest.  The
#: cost is cubic.
FITTED, MOST = 200, 1000
#: The prior of the kernel: median variance, and the spreads of ln variance and ln length.
_VARIANCE, _VARIANCE_SPREAD, _LENGTH_SPREAD = 0.05**2, 2.0, 0.7
#: Variance of the mean score of all candidates, about ½: nearly any.
_OFFSET = 0.25
#: Pairs' variance before any result, and its weight in pairs.
_PAIR_VARIANCE, _PAIR_WEIGHT = 0.08, 8
_JITTER = 1e-8
#: For the importance of parameters: random points, and the least difference of the
#: best and the worst estimate in its standard deviations.
_POINTS, _SIGNAL = 512, 3.0
#: For the importance of a parameter: fewest trials that have it, and the least share of its range
#: that their values span.
_TRIALS, _SPAN = 5, 0.1


class Estimate(msgspec.Struct, frozen=True):
    """A score with its standard deviation."""

    score: float
    deviation: float


class Surrogate:
    """The posterior of the scores of all trials.

    rows       indices of the estimated trials
    estimates  scores by row, between 0 and 1
    ranking    the rows by their estimates, the highest first
    best       the row of the highest estimate
    """

    def __init__(
        self, space: Space, values: Sequence[Values], counts: Sequence[Sequence[int]]
    ) -> None:
        """Fit the results of one or more trials, in the order in which they ended.

        counts  pairs of games of each trial by score: 0, ¼, ½, ¾, 1; none for the known score ½
        Raises RingmasterError without scikit-learn.
        """
        self._space = space
        self.rows = _latest(len(values), MOST)
        self._values = [values[row] for row in self.rows]
        features = _features(space, self._values)
        scores, variances = scores_with_variances(np.array(counts)[self.rows])
        part = _latest(len(self.rows), FITTED)
        with _one_thread():
            kernel = _fitted_kernel(space, features[part], scores[part], variances[part])
            self._process = _process(kernel, features, scores, variances)
            means, self._covariance = self._process.predict(features, return_cov=True)
        self._means = means + 0.5
        means = np.clip(self._means, 0, 1).tolist()
        deviations = np.sqrt(np.maximum(np.diag(self._covariance), 0)).tolist()
        self.estimates = list(map(Estimate, means, deviations))
        self.ranking: list[int] = np.argsort(-self._means.round(9), kind="stable").tolist()
        self.best = self.ranking[0]

    def gain(self, row: int, other: int) -> Estimate:
        """Return the difference of two rows' scores."""
        cov = self._covariance
        variance = cov[row, row] + cov[other, other] - 2 * cov[row, other]
        gain = float(self._means[row] - self._means[other])
        return Estimate(gain, math.sqrt(max(variance, 0)))

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
        # scipy.stats.sobol_indices (1.17) fails for one parameter
        random = np.random.Generator(np.random.Philox(key=1))
        one, other = ([_drawn(d, random) for d in self._space.dimensions] for _ in range(2))
        effects = {}
        with _one_thread():
            base = self._mean(one)
            for i in self._space.searched:
                if self._is_varied(i):
                    mixed = [*one[:i], other[i], *one[i + 1 :]]
                    effect = np.mean((self._mean(mixed) - base) ** 2) / 2
                    # by chance of the points, a share may exceed 1
                    share = min(float(effect / np.var(base)), 1.0)
                    effects[self._space.dimensions[i].code] = share
        return effects

    def _mean(self, columns: Sequence[Array]) -> Array:
        """Return estimates minus ½ for values by dimension, without those that do not exist."""
        candidates = [self._space.settle(row) for row in zip(*columns, strict=True)]
        means: Array = self._process.predict(_features(self._space, candidates))
        return means

    def _is_varied(self, i: int) -> bool:
        """Return whether some trials have different values of a dimension."""
        d = self._space.dimensions[i]
        values = [value for row in self._values if (value := row[i]) is not None]
        if len(values) < _TRIALS:
            return False
        low, high = min(values), max(values)
        return low < high if d.choices else d.place(high) - d.place(low) >= _SPAN


def _drawn(d: Dimension, random: np.random.Generator) -> Array:
    """Return random values of a dimension, `_POINTS` in all."""
    if d.fixed:
        return np.full(_POINTS, d.start)
    if d.choices:
        return np.floor(random.uniform(0, d.high + 1, _POINTS))
    if d.log:
        return np.exp(random.uniform(math.log(d.low), math.log(d.high), _POINTS))
    return random.uniform(d.low, d.high, _POINTS)


def scores_with_variances(counts: npt.NDArray[np.int_]) -> tuple[Array, Array]:
    """Return the scores of trials and their variances, from pairs by score, (n, 5).

    The variance of a pair is the same in all trials.
    """
    pairs = counts.sum(axis=1)
    levels = np.linspace(0, 1, 5)
    scores = np.where(pairs, counts @ levels / np.maximum(pairs, 1), 0.5)
    squares = (counts * (levels - scores[:, np.newaxis]) ** 2).sum()
    freedom = np.maximum(pairs - 1, 0).sum()
    variance = (_PAIR_VARIANCE * _PAIR_WEIGHT + squares) / (_PAIR_WEIGHT + freedom)
    return scores, np.where(pairs, variance / np.maximum(pairs, 1), 0)


def _latest(count: int, most: int) -> list[int]:
    """Return the indices of the first trial and the latest, `most` in all."""
    return [0, *range(max(count - most, 0) + 1, count)]


def _features(space: Space, candidates: Sequence[Values]) -> Array:
    """Return coordinates for the kernel, (n, features): √½ for a choice, places of numbers."""
    features = []
    for i in space.searched:
        d, values = space.dimensions[i], [row[i] for row in candidates]
        if d.choices:
            features += [
                [math.sqrt(0.5) * (value == choice) for value in values]
                for choice in range(int(d.high) + 1)
            ]
        else:
            features.append([0.5 if value is None else d.place(value) for value in values])
        if d.conditional:
            features.append([float(value is None) for value in values])
    return np.array(features).T


def _process(kernel: Any, features: Array, scores: Array, variances: Array) -> Any:
    """Return scikit-learn's posterior of scores minus ½."""
    from sklearn.gaussian_process import GaussianProcessRegressor

    process = GaussianProcessRegressor(kernel, alpha=variances + _JITTER, optimizer=None)
    return process.fit(features, scores - 0.5)


def _fitted_kernel(space: Space, features: Array, scores: Array, variances: Array) -> Any:
    """Return Matérn's kernel with ν = 5/2 of the highest posterior density.

    Each feature has a length.  ln length is normal about ln(√d/2) for d parameters: the distance
    of two random points grows with √d.  ln variance is normal too.  scikit-learn has no prior;
    without one, fewer true scores lie in the intervals of 95 %.
    """
    from scipy.optimize import minimize
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern

    lengths = [math.sqrt(len(space.searched)) / 2] * features.shape[1]
    kernel = ConstantKernel(_VARIANCE) * Matern(lengths, nu=2.5) + ConstantKernel(_OFFSET, "fixed")
    process = _process(kernel, features, scores, variances)
    prior = kernel.theta
    spread = np.array([_VARIANCE_SPREAD] + [_LENGTH_SPREAD] * len(lengths))

    def loss(theta: Array) -> tuple[float, Array]:
        likelihood, gradient = process.log_marginal_likelihood(theta, True, clone_kernel=False)
        away = (theta - prior) / spread
        return away @ away / 2 - likelihood, away / spread - gradient

    solution = minimize(loss, prior, jac=True, method="L-BFGS-B", options={"ftol": 1e-4})
    return kernel.clone_with_theta(solution.x)


def _one_thread() -> contextlib.AbstractContextManager[Any]:
    """Return a context in which linear algebra has one thread.

    Several threads wait for each other while engines use the CPUs, for seconds.
    """
    try:
        # the limit applies to loaded libraries alone
        import sklearn.gaussian_process  # noqa: F401
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise RingmasterError(
            "the estimates of an optuna_tuner need scikit-learn, which is not installed: "
            "pip install 'ringmaster-engines[tuners]'"
        ) from None
    context: contextlib.AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return context
