"""A linear model by features: a score is a sum of counts times weights.

    q = offset + A·θ                                 or, tapered,
    q = offset + ph·(A·θ_mg) + (1 − ph)·(A·θ_eg)

A has a row for each position and a column for each feature, and is sparse; ph is the phase, 1
in the opening.  The offset is the part of the score that the tuned weights do not make.
Positions are processed in blocks that fit into the processor's cache.  Threads share the
blocks, since SciPy's products and NumPy's loops release the interpreter.  Results are added in
the order of the blocks, so sums do not depend on the threads.

The least loss comes from SciPy's L-BFGS-B (Byrd, Lu, Nocedal & Zhu, "A limited memory algorithm
for bound constrained optimization", 1995), which needs no second derivatives by hundreds of
weights.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.linear_model import LinearModel, Quadratic, Result, Rows
from ringmaster.tuners.texel.loss import Array, Floats, Loss
from ringmaster.tuners.texel.optimiser import Split
from ringmaster.tuners.texel.ridge import Penalty

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


#: Positions in a block.
BLOCK = 16384
#: Positions in a block that may become a dense matrix.
DENSE_BLOCK = 4096
#: Endings of parameters of a tapered evaluation.
MIDDLE, END = "_mg", "_eg"

#: Most multiplications for second derivatives, 10 to 20 seconds; beyond, a share of the games is
#: used.  Units of L-BFGS need a fiftieth.
_WORK = 1e11
#: Multiplier that spreads numbers of games evenly mod 2³² (Knuth, volume 3, 6.4).
_SPREAD = np.uint32(2654435769)
#: Most iterations of L-BFGS, and the number of vector pairs in its memory.
_ITERATIONS, _MEMORY = 500, 20
#: L-BFGS ends at a slope (per standard deviation of a weight's own scores) or a relative decrease
#: of the loss below these; scores are float32, so smaller ones are not visible.
_SLOPE, _FALL = 1e-8, 1e-11


def feature_of(code: str, tapered: bool) -> str:
    if tapered and code.endswith((MIDDLE, END)):
        return code[: -len(MIDDLE)]
    return code


def features_of(codes: Sequence[str], tapered: bool) -> tuple[str, ...]:
    return tuple(dict.fromkeys(feature_of(code, tapered) for code in codes))


def wiring_of(names: Sequence[str], codes: Sequence[str], tapered: bool) -> list[Any]:
    """Return the features whose weights the parameters are, sparse matrices (F, P) of 0 and 1.

    There are two if tapered, for the opening and the endgame.
    Raises ValueError if a parameter has no feature, or a weight has two parameters.
    """
    from scipy.sparse import csr_matrix

    columns = {name: i for i, name in enumerate(names)}
    endings = (MIDDLE, END) if tapered else ("",)
    places: list[dict[int, int]] = [{} for _ in endings]
    for number, code in enumerate(codes):
        feature = feature_of(code, tapered)
        if feature not in columns:
            known = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
            raise ValueError(f"parameter {code} has no feature {feature!r}; there are: {known}")
        for half, ending in zip(places, endings, strict=True):
            if feature != code and not code.endswith(ending):
                continue
            if columns[feature] in half:
                raise ValueError(f"feature {feature!r} has two parameters for one weight: {code}")
            half[columns[feature]] = number
    shape = len(names), len(codes)
    return [
        csr_matrix((np.ones(len(half), np.float32), (list(half), list(half.values()))), shape)
        for half in places
    ]


@dataclass(eq=False)
class FeatureModel(LinearModel):
    """Positions with their features and labels.

    matrix     a `positions.FeatureFile`: a sparse matrix by rows, positions × features
    wiring     see `wiring_of`
    offset, target, weight, games  (n,): as in `Block`; offset is the part of the score that the
                                   tuned weights do not make
    train      number of positions of training; they come first
    """

    space: Space
    matrix: Any
    wiring: list[Any]
    offset: Floats
    target: Floats
    weight: Floats
    games: npt.NDArray[np.uint32]
    train: int
    loss: Loss
    threads: int = 1

    def __post_init__(self) -> None:
        self.places = np.arange(len(self.space))
        self.low, self.high = self.space.whole_bounds
        self.total_weight = float(self.weight[: self.train].astype(np.float64).sum())

    def _weights(self, theta: Sequence[float] | Array) -> list[Floats]:
        """Return the weights of the features, (F,) for each of `wiring`; 0 if not tuned."""
        return [wires @ np.asarray(theta, dtype=np.float32) for wires in self.wiring]

    def rows(self, first: int, stop: int) -> Any:
        """Return rows as a sparse matrix, (rows, F) of float32."""
        from scipy.sparse import csr_matrix

        matrix = self.matrix
        pointers = matrix.indptr[first : stop + 1].astype(np.int64)
        a, b = int(pointers[0]), int(pointers[-1])
        values, columns = matrix.values[a:b].astype(np.float32), matrix.columns[a:b]
        parts = values, columns.astype(np.int32), (pointers - a).astype(np.int32)
        return csr_matrix(parts, shape=(stop - first, len(matrix.names)), copy=False)

    def _shares(self, first: int, stop: int) -> list[Any]:
        """Return the factors of the counts of a span, for each of the wiring's places."""
        if len(self.wiring) == 1:
            return [1.0]
        assert self.matrix.phase is not None
        phase: Floats = self.matrix.phase[first:stop]
        return [phase, 1 - phase]

    def of_rows(self, rows: Any, first: int, stop: int, weights: list[Floats]) -> Floats:
        """Return A·θ of rows from `rows`, with the weights of `_weights`."""
        pairs = zip(self._shares(first, stop), weights, strict=True)
        return np.asarray(sum(share * (rows @ each) for share, each in pairs))

    def linear(self, theta: Sequence[float] | Array, first: int, stop: int) -> Floats:
        """Return A·θ of some positions, centipawns."""
        weights = self._weights(theta)

        def block(a: int, b: int) -> Floats:
            return self.of_rows(self.rows(a, b), a, b, weights)

        return np.concatenate([np.empty(0, np.float32), *self.map_blocks(block, first, stop)])

    def map_rows(
        self, theta: Sequence[float] | Array, part: Split, function: Callable[[Rows], Result]
    ) -> Iterator[Result]:
        weights = self._weights(theta)

        def block(a: int, b: int) -> Result:
            wanted = self.weight[a:b] > 0
            rows = self.rows(a, b)
            q = self.of_rows(rows, a, b, weights) + self.offset[a:b]
            target, weight, games = (self.target[a:b], self.weight[a:b], self.games[a:b])
            slopes = partial(self.jacobian, rows, a, b, wanted)
            labels = (target[wanted], weight[wanted], games[wanted])
            return function(Rows(q[wanted], slopes, *labels))

        ends = (0, self.train) if part == "train" else (self.train, len(self.offset))
        return self.map_blocks(block, *ends, DENSE_BLOCK)

    def gradient(self, theta: Sequence[float] | Array) -> tuple[float, Array]:
        """Return the mean loss over training, and its derivative by θ, (P,)."""
        weights = self._weights(theta)

        def part(a: int, b: int) -> tuple[float, list[Floats]]:
            rows = self.rows(a, b)
            q = self.of_rows(rows, a, b, weights) + self.offset[a:b]
            value = float(self.weight[a:b] @ self.loss.values(q, self.target[a:b]))
            pull = (self.weight[a:b] * self.loss.slope(q, self.target[a:b])).astype(np.float32)
            turned = rows.T
            return value, [turned @ (pull * share) for share in self._shares(a, b)]

        total, by_weight = 0.0, np.zeros((len(weights), len(self.matrix.names)))
        for value, parts in self.map_blocks(part, 0, self.train):
            total += value
            by_weight += parts
        slope = sum(wires.T @ each for wires, each in zip(self.wiring, by_weight, strict=True))
        weight = self.total_weight or 1.0
        return total / weight, np.asarray(slope) / weight

    def jacobian(self, rows: Any, first: int, stop: int, wanted: npt.NDArray[np.bool_]) -> Floats:
        """Return ∂q/∂θ of the wanted positions of a span, (rows, P)."""
        chosen, jacobian = rows[wanted], np.zeros((), np.float32)
        for wires, share in zip(self.wiring, self._shares(first, stop), strict=True):
            own = share if isinstance(share, float) else share[wanted, np.newaxis]
            jacobian = jacobian + (chosen @ wires).toarray() * own
        return jacobian

    def _thinned(self, work: float) -> FeatureModel:
        """Return the model of so many games that second derivatives take `work` multiplications."""
        share = work / max(self.train * len(self.space) ** 2, 1)
        if share >= 1:
            return self
        chosen = self.games * _SPREAD <= np.uint32(share * 2**32)
        return replace(self, weight=np.where(chosen, self.weight, np.float32(0)))

    def quadratic(self, theta: Array, *, by_game: bool = False) -> Quadratic:
        """Return the loss around θ; second derivatives of much data are those of some games."""
        part = LinearModel.quadratic(self._thinned(_WORK), theta, by_game=by_game)
        value, slope = self.gradient(theta)
        # the error of an estimate falls with 1/√(games)
        meat = part.meat * (part.weight / (self.total_weight or 1.0))
        return part._replace(value=value, slope=slope, meat=meat)

    @cached_property
    def _stiffness(self) -> Array:
        """The second derivatives by each parameter at the start, of some games, (P,)."""
        thinned = self._thinned(_WORK / 50)
        return np.diag(LinearModel.quadratic(thinned, self.space.start).curvature)

    def minimum(self, penalty: Penalty, at: Array) -> Array:
        from scipy.optimize import minimize

        # units of equal curvature
        bend, wide = self._stiffness + penalty.curvature, self.space.scale
        unit = np.where(bend > 0, 1 / np.sqrt(np.where(bend > 0, bend, 1.0)), wide)
        unit = np.minimum(unit, 100 * wide)

        def value_and_slope(u: Array) -> tuple[float, Array]:
            theta = np.clip(u * unit, self.low, self.high)
            value, slope = self.gradient(theta)
            return value + penalty(theta), (slope + penalty.slope(theta)) * unit

        result = minimize(
            value_and_slope,
            at / unit,
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(self.low / unit, self.high / unit, strict=True)),
            options={
                "maxiter": _ITERATIONS,
                "maxfun": 2 * _ITERATIONS,
                "maxcor": _MEMORY,
                "ftol": _FALL,
                "gtol": _SLOPE,
            },
        )
        return np.asarray(np.clip(result.x * unit, self.low, self.high))

    def map_blocks(
        self, function: Callable[[int, int], Result], first: int, stop: int, block: int = BLOCK
    ) -> Iterator[Result]:
        """Yield the results of a function over blocks of positions, in order."""
        starts = range(first, stop, block)
        mapped: Callable[..., Iterator[Result]] = map
        if self.threads > 1 and len(starts) > 1:
            mapped = self._pool.map
        # few results wait for their turn
        few = 16 * self.threads
        for i in range(0, len(starts), few):
            yield from mapped(lambda a: function(a, min(a + block, stop)), starts[i : i + few])

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        # not at the top: showing a tune needs no threads
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(self.threads, thread_name_prefix="linear")


def processors() -> int:
    """Return the number of processors that this process may use."""
    # no such call on macOS
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
