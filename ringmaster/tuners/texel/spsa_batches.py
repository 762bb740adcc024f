"""Simultaneous perturbation over batches: two passes over few positions move all parameters.

J. C. Spall, "Implementation of the simultaneous perturbation algorithm for stochastic
optimization", IEEE Trans. Aerospace and Electronic Systems 34(3), 1998.  Iteration k scores
θ ± c_k·s·δ, δᵢ = ±1, on the same batch of shards, and

    θᵢ ← θᵢ − a_k·sᵢ·δᵢ·(E⁺ − E⁻)/(2·c_k)        a_k = a·((A + 1)/(A + k))^α    c_k = k^−γ

where k counts from 1.  Gains and units are measured: on the first batch each parameter moves
alone, by its step both ways.  The second differences hᵢ of the error give the units

    sᵢ = stepᵢ·√(h̃/hᵢ)        h̃ the median of hᵢ

in which all parameters have equal curvature.  Along δ the error of a parabola with these hᵢ is
least at the gain a = 1/Σhᵢ in these units.  (For a sum of squares in a random direction the
expected second difference is Σhᵢ, the trace.)

Every few passes the mean of the latest iterates is checked on all positions.  If its error is
above that of the best so far, the step is blocked: θ returns to the best, and a is halved.  The
mean of the last half of all iterates (B. T. Polyak and A. B. Juditsky, 1992) is checked last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from ringmaster.errors import counted
from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.spsa.course import Averages
from ringmaster.tuners.spsa.perturbation import draw, sides
from ringmaster.tuners.texel.loss import Array
from ringmaster.tuners.texel.optimiser import LEAST_DECREASE, WORST, Arguments, Point, Theta, finite
from ringmaster.tuners.texel.ridge import OwnTable
from ringmaster.tuners.texel.searching import Search, first_steps

#: Default limit of passes; the sequence of gains is spread over them.
MOST_PASSES = 100.0
#: Default batch as a share of the training positions.
BATCH = 1 / 8
#: Exponents of the gains, and A as a share of the iterations.
ALPHA, GAMMA, A_SHARE = 0.602, 0.101, 0.1
#: Passes over training between checks; batches count in parts.
PASSES_PER_CHECK = 5.0
#: Largest ratio of a unit to a step, and of a step to a unit.
MOST_UNIT = 8.0
#: With more parameters, perturbations shrink so that the scores move no further.
FULL_PARAMETERS = 16
#: Blocked checks in a row that end the tune.
MOST_BLOCKED = 6
#: Largest move of a parameter in one iteration, in units.
MOST_MOVE = 2.0


class SpsaBatches(Search):
    """SPSA over batches.  Arguments: see `Search`."""

    _theta: Array
    _units: Array
    _gain: float = 0.0
    _measured: bool = False
    #: Iterations done.
    _k: int = 0
    #: Iterates since the last check, and all iterates.
    _recent: Averages
    _all: Averages
    #: The values with the smallest penalised training error in a check.
    _safe: tuple[Theta, float]
    _blocked: int = 0

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        *,
        batch: float = BATCH,
        **common: Unpack[Arguments],
    ) -> None:
        if common.get("most_passes") is None:
            common["most_passes"] = MOST_PASSES
        super().__init__(parameters, batch, **common)
        share = self.share
        self.iterations = max(1, int(self.most_passes / (2 * share)))
        self.A = A_SHARE * self.iterations
        self.every = max(1, round(PASSES_PER_CHECK / (2 * share)))
        self._steps = first_steps(self.parameters)
        self._theta = np.array(self._start)
        self._units = self._steps.copy()
        self._recent, self._all = Averages(self._theta), Averages(self._theta)
        self._safe = (self._start, WORST)

    def _begin(self, error: float) -> None:
        self._safe = (self._start, error)

    def _round(self) -> tuple[int, str]:
        return self._k, f"iteration {self._k}"

    def _values(self) -> list[Theta]:
        """Return the values to be scored on the present batch.

        First the start and two neighbours of it for each parameter, which measure the units and
        the gain; then both sides of an iteration.
        """
        if self._measured:
            return [self.space.played(theta) for theta in self._sides()]
        values = [self._theta]
        for i in range(len(self.space)):
            for offset in self._offsets(i):
                theta = self._theta.copy()
                theta[i] += offset
                values.append(theta)
        return [self.space.played(theta) for theta in values]

    def _learn_errors(self, values: list[Theta], errors: list[float]) -> None:
        if self._measured:
            self._move(*errors)
        else:
            self._measure(errors[0], errors[1:])

    def _offsets(self, i: int) -> tuple[float, float]:
        """Return two changes of a parameter within its bounds: to both sides, or to one."""
        start, low, high = self._theta[i], self.space.minimum[i], self.space.maximum[i]
        step = float(self._steps[i])
        if self.space.integer[i]:
            step = max(1.0, float(round(step)))
        if start + step > high:
            step = -step
        if low <= start - step <= high:
            return step, -step
        # the range exceeds a step: integers have at least two values
        far = (high if step > 0 else low) - start
        return far / 2 if not self.space.integer[i] else math.copysign(1.0, far), far

    def _measure(self, start: float, errors: Sequence[float]) -> None:
        """Compute the units and the gain, by the errors of the start and of its neighbours."""
        ups = [error - start for error in errors]
        curved = self._curvatures(ups)
        known = curved[curved > 0]
        if len(known):
            middle = float(np.median(known))
            ratio = np.sqrt(middle / np.where(curved > 0, curved, middle))
            self._units = self._steps * np.clip(ratio, 1 / MOST_UNIT, MOST_UNIT)
        self._units = np.minimum(self._units, self.space.width / 4)
        curved = np.where(curved > 0, curved, 0.0) * np.square(self._units / self._steps)
        total = float(curved.sum())
        shrunk = min(1.0, math.sqrt(FULL_PARAMETERS / len(self.space)))
        self._units = self._units * shrunk
        total *= shrunk**2
        moved = [0.0, *map(abs, ups)]
        if not max(moved) > 0:
            self._stop("no change of a parameter changes the error")
        elif not (total > 0 and finite(total)):
            # no parabola: the first move is about a unit
            total = float(np.mean([x for x in moved if finite(x) is not None] or [1.0])) or 1.0
        self._gain = 1 / total if total > 0 else 0.0
        self._measured = True
        self._notes.append(
            f"units and gain from {counted(len(moved), 'pass')} over a batch of "
            f"{self.size} of {counted(self.shards, 'shard')}: gain {self._gain:.4g}"
        )

    def _curvatures(self, ups: Sequence[float]) -> Array:
        """Return second derivatives of the error in steps, (n,), by its increases at neighbours."""
        curvatures = np.zeros(len(self.space))
        for i, pair in enumerate(zip(ups[::2], ups[1::2], strict=True)):
            first, second = offsets = self._offsets(i)
            # a change of the ridge alone is no signal
            ridge = [self.penalty.strength * (by / self.space.scale[i]) ** 2 for by in offsets]
            bare = [up - more for up, more in zip(pair, ridge, strict=True)]
            if max(map(abs, bare)) < LEAST_DECREASE / 10:
                self._silent.append(i)
            if first == second or None in map(finite, pair):
                continue
            slope = pair[0] / first, pair[1] / second
            curvatures[i] = 2 * (slope[0] - slope[1]) / (first - second) * self._steps[i] ** 2
        return curvatures

    def _sides(self) -> tuple[Array, Array]:
        """Return θ⁺ and θ⁻; parameters without a signal stay."""
        delta, u = draw(self.seed, self._k + 1, len(self.space))
        c = np.maximum(self._units * (self._k + 1) ** -GAMMA, self.space.least_c)
        plus, minus = sides(self.space, self._theta, c, delta, u, "stochastic")
        plus[self._silent] = minus[self._silent] = self._theta[self._silent]
        return plus, minus

    def _move(self, above: float, below: float) -> None:
        plus, minus = (np.array(self.space.played(each)) for each in self._sides())
        k = self._k + 1
        a = self._gain * ((self.A + 1) / (self.A + k)) ** ALPHA
        difference = above - below
        d = (plus - minus) / 2
        step = np.zeros(len(self.space))
        if finite(difference) is not None:
            moved = d != 0
            step[moved] = -a * np.square(self._units[moved]) * difference / (2 * d[moved])
        step = np.clip(step, -MOST_MOVE * self._units, MOST_MOVE * self._units)
        before = self._theta
        self._theta = self.space.clip(before + step)
        self._recent.add(self._theta, self._theta - before)
        self._all.add(self._theta, self._theta - before)
        self._k = k
        if k % self.every == 0:
            mean = self._settled(self._recent)
            self._recent = Averages(self._theta)
            if not self._is_checked(mean):
                self._due = mean
        if k >= self.iterations and self._due is None:
            self._stop(f"done: {counted(k, 'iteration')}")

    def _settled(self, iterates: Averages) -> Theta:
        """Return the mean of the last half of iterates, as played.

        If θ is on a bound, so is the result: the mean of perturbed values never reaches the bound.
        """
        mean, theta = iterates.mean(), self._theta
        on_bound = (theta <= self.space.minimum) | (theta >= self.space.maximum)
        return self.space.played(
            np.where(on_bound & (np.abs(mean - theta) < self._units), theta, mean)
        )

    def _learn_check(self, point: Point, better: bool) -> None:
        error = self._penalised(point)
        words = f"iteration {self._k}: training error {point.train:.9f}"
        if point.validation is not None:
            words += f", validation error {point.validation:.9f}"
        if error > self._safe[1] + LEAST_DECREASE:
            self._theta = np.array(self._safe[0])
            self._gain /= 2
            self._blocked += 1
            # a blocked step does not count against patience
            self._stale -= not better
            self._recent = Averages(self._theta)
            words += "; blocked, gain halved"
            if self._blocked >= MOST_BLOCKED:
                self._stop("the training error does not fall any more")
        else:
            self._safe, self._blocked = (point.theta, error), 0
        self._notes.append(words)
        if self._k >= self.iterations:
            self._stop(f"done: {counted(self._k, 'iteration')}")

    def _finalists(self) -> list[Theta]:
        finalists = [self._safe[0]]
        if self._k:
            finalists.append(self._settled(self._all))
        return finalists

    def _extras(self) -> dict[str, float]:
        return {"gain": self._gain} if self._measured else {}

    def report(self) -> list[OwnTable]:
        units = [
            (parameter.code, f"{unit:.4g}")
            for parameter, unit in zip(self.parameters, self._units, strict=True)
        ]
        return [("Units", ("parameter", "unit"), units)]
