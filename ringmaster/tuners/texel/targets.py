"""Targets of positions: the game's result, a teacher's score, or a blend of both.

With t the result and p = σ(s/C) the win probability by the teacher's score s and its own scale
C, the target is m = (1 − λ)·t + λ·p (elmo, 2017).  λ may be a number; two numbers, the second
for |s| at or above a limit (YaneuraOu's lambda2 and lambda_limit); that number times
exp(−s²/(2σ²)) ("Gaussian_lambda", by the author of that name: the teacher counts least where
the game is nearly decided); or any function.  Targets do not depend on the tuned weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.tuners.texel.loss import (
    Array,
    Floats,
    Loss,
    Numbers,
    cross_entropy,
    entropy,
    sigmoid,
)

TargetKind = Literal["texel", "elmo", "gaussian", "function"]
#: λ by the teacher's score (centipawns for the side that moves first), the ply, and the ply as a
#: share of the game's length; None if unknown.
Blending = Callable[[float | None, int | None, float | None], float]

#: The win probability one standard deviation off: ½ + ½·erf(1/√2).
ONE_DEVIATION = 0.5 + 0.5 * math.erf(1 / math.sqrt(2))
#: Default σ in scales C, 1.668…: 1,001 centipawns for a scale of 600.
SIGMA_PER_SCALE = math.log(ONE_DEVIATION / (1 - ONE_DEVIATION))
#: Default limit of λ₂ in scales C: a win probability of 60 %.
LIMIT_PER_SCALE = math.log(0.6 / 0.4)


def known_arguments(
    score: float, ply: int, progress: float
) -> tuple[float | None, int | None, float | None]:
    """Return the arguments of a `Blending` function; unknown ones are NaN, 0 and NaN."""
    return (
        None if math.isnan(score) else score,
        ply or None,
        None if math.isnan(progress) else progress,
    )


class Mixture(NamedTuple):
    """Targets of positions, (n,) each.

    target   m, 0 to 1; ½ for positions left out
    kept     whether the position counts
    teacher  p, NaN without a score
    lambdas  λ as used
    """

    target: Floats
    kept: npt.NDArray[np.bool_]
    teacher: Array
    lambdas: Array


class Target(msgspec.Struct, frozen=True):
    """The target of positions.

    kind          "texel": the result alone; "elmo", "gaussian": a blend; "function": a blend by
                  `function`
    lambda_       share of the teacher: 0 is the result alone, 1 the teacher alone
    lambda2       share of the teacher if its |score| is at least `lambda_limit`
    lambda_limit  centipawns; None: at a win probability of 60 %
    sigma         of the Gaussian, centipawns; None: at a win probability of 84.13 %
    eval_limit    centipawns; positions with a larger teacher's |score| are left out
    """

    kind: TargetKind = "texel"
    lambda_: float = 0.0
    lambda2: float | None = None
    lambda_limit: float | None = None
    sigma: float | None = None
    eval_limit: float | None = None
    function: Blending | None = None

    @property
    def needs_teacher(self) -> bool:
        if self.kind == "function":
            return True
        return self.kind != "texel" and bool(self.lambda_ or self.lambda2)

    @property
    def needs_result(self) -> bool:
        if self.kind != "elmo":
            return True  # the λ of a Gaussian is 1 at a score of exactly 0 only
        return self.lambda_ != 1 or (self.lambda2 is not None and self.lambda2 != 1)

    def mix(
        self,
        result: Numbers,
        teacher: Numbers,
        ply: npt.NDArray[Any],
        progress: Numbers,
        teacher_scale: float,
    ) -> Mixture:
        """Return the targets of positions, (n,) each.

        result         0 to 1 for the side that moves first, NaN if unknown
        teacher        centipawns for the side that moves first; NaN, if unknown, counts as 0
        ply            0 if unknown
        progress       0 to 1, NaN if unknown
        teacher_scale  C of the teacher's scores, centipawns
        A position without a result counts only if λ is 1, without a teacher's score only if λ is 0.
        Raises ValueError with a message for the user if `function` fails or does not return a
        number from 0 to 1.
        """
        lambdas = self._lambdas(teacher, ply, progress, teacher_scale)
        score = np.asarray(teacher, dtype=np.float64)
        p = sigmoid(score / teacher_scale)
        t = np.asarray(result, dtype=np.float64)
        kept = (~np.isnan(t) | (lambdas == 1)) & (~np.isnan(p) | (lambdas == 0))
        if self.eval_limit is not None:
            kept &= ~(np.abs(score) > self.eval_limit)
        # 0·NaN is NaN: drop labels without a share
        result_part = np.where(lambdas == 1, 0.0, (1 - lambdas) * t)
        teacher_part = np.where(lambdas == 0, 0.0, lambdas * p)
        target = np.where(kept, result_part + teacher_part, 0.5)
        return Mixture(target.astype(np.float32), kept, p, lambdas)

    def _lambdas(
        self, teacher: Numbers, ply: npt.NDArray[Any], progress: Numbers, teacher_scale: float
    ) -> Array:
        """Return λ of each position, (n,)."""
        if self.kind == "texel":
            return np.zeros(len(teacher))
        if self.kind == "function":
            return self._called(teacher, ply, progress)
        score = np.nan_to_num(np.asarray(teacher, dtype=np.float64), nan=0.0)
        lambdas = np.full(len(score), float(self.lambda_))
        if self.lambda2 is not None:
            limit = self.lambda_limit
            if limit is None:
                limit = LIMIT_PER_SCALE * teacher_scale
            lambdas[np.abs(score) >= limit] = self.lambda2
        if self.kind == "gaussian":
            sigma = SIGMA_PER_SCALE * teacher_scale if self.sigma is None else self.sigma
            lambdas *= np.exp(-np.square(score / sigma) / 2)
        return lambdas

    def _called(self, teacher: Numbers, ply: npt.NDArray[Any], progress: Numbers) -> Array:
        assert self.function is not None
        lambdas = np.empty(len(teacher))
        rows = zip(teacher.tolist(), ply.tolist(), progress.tolist(), strict=True)
        for i, (score, at, share) in enumerate(rows):
            known = known_arguments(score, at, share)
            try:
                value = float(self.function(*known))
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # also SystemExit
                raise ValueError(
                    f"the function of the target fails for score {known[0]}, ply {known[1]}, "
                    f"progress {known[2]}: {type(error).__name__}: {error}"
                ) from error
            if not 0 <= value <= 1:
                raise ValueError(
                    f"the function of the target returns {value:g} for score {known[0]}, ply "
                    f"{known[1]}, progress {known[2]}; lambda must be a number from 0 to 1"
                )
            lambdas[i] = value
        return lambdas


#: Names of the entropies, as in elmo-style learning.
ENTROPIES = tuple(
    f"{kind}{label}"
    for kind in ("cross entropy", "entropy")
    for label in ("", ", result", ", teacher")
)


def entropies_of(
    loss: Loss, shards: Iterable[tuple[Numbers, Numbers, Mixture, Numbers]]
) -> dict[str, float | None]:
    """Return cross entropies of predictions and entropies of labels by name, means in nats.

    shards  scores, results, targets and weights of positions, (n,) each
    Positions that are left out or lack the label do not count; None without any.
    """
    sums, weights = [], []
    for scores, result, mixture, weight in shards:
        counts = (np.asarray(weight) > 0) & mixture.kept
        x = np.asarray(scores, dtype=np.float64)[counts] / loss.scale
        wide = np.asarray(weight, dtype=np.float64)[counts]
        labels = (mixture.target[counts], np.asarray(result)[counts], mixture.teacher[counts])
        values = [cross_entropy(x, label) for label in labels] + [entropy(e) for e in labels]
        masks = [~np.isnan(label) for label in labels] * 2
        sums.append([float((wide * v)[k].sum()) for v, k in zip(values, masks, strict=True)])
        weights.append([float(wide[k].sum()) for k in masks])
    totals = (map(math.fsum, zip(*rows, strict=True)) for rows in (sums, weights))
    each = zip(ENTROPIES, *totals, strict=True)
    return {name: total / weight if weight > 0 else None for name, total, weight in each}
