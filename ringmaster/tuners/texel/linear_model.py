"""A score that is a sum of counts times weights: values, loss, derivatives, and its check.

    q = offset + A·θ                                 or, tapered,
    q = offset + ph·(A·θ_mg) + (1 − ph)·(A·θ_eg)

A has a row for each position and a column for each feature, and is sparse; ph is the phase, 1
in the opening.  The offset is the part of the score that the tuned weights do not make.
Positions are processed in blocks that fit into the processor's cache.  Threads share the
blocks, since SciPy's products and NumPy's loops release the interpreter.  Results are added in
the order of the blocks, so sums do not depend on the threads.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.model.randomness import TEXEL_LINEAR_STREAM, words
from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.loss import Array, Floats, Loss

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


#: Positions in a block.
BLOCK = 16384
#: Positions in a block that becomes a dense matrix.
DENSE_BLOCK = 4096
#: Endings of parameters of a tapered evaluation.
MIDDLE, END = "_mg", "_eg"

Indices = npt.NDArray[np.intp]
Result = TypeVar("Result")


class Matrix(Protocol):
    """A sparse matrix by rows, positions × features, as `positions.FeatureFile` has it."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def indptr(self) -> npt.NDArray[Any]: ...
    @property
    def columns(self) -> npt.NDArray[Any]: ...
    @property
    def values(self) -> npt.NDArray[Any]: ...
    @property
    def phase(self) -> Floats | None: ...


def feature_of(code: str, tapered: bool) -> str:
    """Return the feature whose weight a parameter is."""
    if tapered and code.endswith((MIDDLE, END)):
        return code[: -len(MIDDLE)]
    return code


def features_of(codes: Sequence[str], tapered: bool) -> tuple[str, ...]:
    """Return the features of some parameters, in order."""
    return tuple(dict.fromkeys(feature_of(code, tapered) for code in codes))


@dataclass(frozen=True, eq=False)
class Wiring:
    """The parameters that are weights of features.

    middle, end  (F,): place of the parameter that is the weight in the opening and in the endgame,
                 −1 if not tuned; equal without tapering
    fixed_middle, fixed_end  (F,): weights that are not tuned, else 0
    count        number of parameters
    """

    middle: Indices
    end: Indices
    fixed_middle: Floats
    fixed_end: Floats
    count: int
    tapered: bool

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        codes: Sequence[str],
        tapered: bool,
        fixed: Mapping[str, float] | None = None,
    ) -> Wiring:
        """Return the wiring of features by name and tuned parameters by code.

        fixed  values of parameters that are not tuned
        Raises ValueError if a parameter has no feature, or a weight has two parameters.
        """
        place = {name: i for i, name in enumerate(names)}
        middle, end = (np.full(len(names), -1, dtype=np.intp) for _ in range(2))
        fixed_middle, fixed_end = (np.zeros(len(names), dtype=np.float32) for _ in range(2))
        assigned: set[tuple[int, int]] = set()
        for number, code in enumerate([*codes, *(fixed or {})]):
            feature = feature_of(code, tapered)
            if feature not in place:
                known = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
                raise ValueError(f"parameter {code} has no feature {feature!r}; there are: {known}")
            at = place[feature]
            halves = [
                half for half in (0, 1) if feature == code or code.endswith((MIDDLE, END)[half])
            ]
            for half in halves:
                if (at, half) in assigned:
                    raise ValueError(
                        f"feature {feature!r} has two parameters for one weight: {code}"
                    )
                assigned.add((at, half))
                if number < len(codes):
                    (middle, end)[half][at] = number
                else:
                    (fixed_middle, fixed_end)[half][at] = (fixed or {})[code]
        return cls(middle, end, fixed_middle, fixed_end, len(codes), tapered)

    def weights(self, theta: Sequence[float] | Array, *, all_: bool) -> tuple[Floats, Floats]:
        """Return the weights of the features in the opening and in the endgame, (F,) each.

        all_  whether to include weights that are not tuned; otherwise they are 0
        """
        values = np.append(np.asarray(theta, dtype=np.float64), 0.0)
        middle, end = values[self.middle].astype(np.float32), values[self.end].astype(np.float32)
        if all_:
            middle, end = middle + self.fixed_middle, end + self.fixed_end
        return middle, end

    def gathered(self, middle: Array, end: Array) -> Array:
        """Return the sums for each parameter, (P,), of values for each weight."""
        sums = np.zeros(self.count + 1)
        sums[self.middle] += middle
        if self.tapered:
            sums[self.end] += end
        return sums[:-1]


@dataclass(eq=False)
class FeatureModel:
    """Positions with their features and labels.

    offset, target, weight  (n,): as in `Block`; offset is the part of the score that the tuned
                            weights do not make
    train   number of positions of training; they come first
    """

    matrix: Matrix
    wiring: Wiring
    offset: Floats
    target: Floats
    weight: Floats
    train: int
    threads: int = 0

    def __post_init__(self) -> None:
        if not self.threads:
            self.threads = _processors()

    @property
    def held(self) -> bool:
        """Whether there are positions of validation."""
        return len(self.offset) > self.train

    def span(self, held: bool) -> tuple[int, int]:
        """Return the first and last + 1 position of a part."""
        return (self.train, len(self.offset)) if held else (0, self.train)

    @cached_property
    def weights(self) -> tuple[float, float]:
        """The total weight of training, and of validation."""
        wide = self.weight.astype(np.float64)
        return float(wide[: self.train].sum()), float(wide[self.train :].sum())

    def rows(self, first: int, stop: int) -> Any:
        """Return rows as a sparse matrix, (rows, F) of float32."""
        from scipy.sparse import csr_matrix

        pointers = self.matrix.indptr[first : stop + 1].astype(np.int64)
        a, b = int(pointers[0]), int(pointers[-1])
        return csr_matrix(
            (
                self.matrix.values[a:b].astype(np.float32),
                self.matrix.columns[a:b].astype(np.int32),
                (pointers - a).astype(np.int32),
            ),
            shape=(stop - first, len(self.matrix.names)),
            copy=False,
        )

    def of_rows(self, rows: Any, first: int, stop: int, middle: Floats, end: Floats) -> Floats:
        """Return A·θ of rows from `rows`, with the weights of `Wiring.weights`."""
        if not self.wiring.tapered:
            return np.asarray(rows @ middle)
        phase = self._phase(first, stop)
        return np.asarray(rows @ end + phase * (rows @ (middle - end)))

    def _phase(self, first: int, stop: int) -> Floats:
        assert self.matrix.phase is not None
        return self.matrix.phase[first:stop]

    def linear(
        self, theta: Sequence[float] | Array, first: int, stop: int, *, all_: bool = False
    ) -> Floats:
        """Return A·θ of some positions, centipawns; `all_` includes weights that are not tuned."""
        middle, end = self.wiring.weights(theta, all_=all_)

        def block(a: int, b: int) -> Floats:
            return self.of_rows(self.rows(a, b), a, b, middle, end)

        return np.concatenate([np.empty(0, np.float32), *self.map_blocks(block, first, stop)])

    def error(self, theta: Sequence[float] | Array, loss: Loss, held: bool = False) -> float:
        """Return the mean loss over training or validation."""
        middle, end = self.wiring.weights(theta, all_=False)

        def block(a: int, b: int) -> float:
            q = self.of_rows(self.rows(a, b), a, b, middle, end) + self.offset[a:b]
            return float(self.weight[a:b] @ loss.values(q, self.target[a:b]))

        return sum(self.map_blocks(block, *self.span(held))) / self.weights[held]

    def gradient(self, theta: Sequence[float] | Array, loss: Loss) -> tuple[float, Array]:
        """Return the mean loss over training, and its derivative by θ, (P,)."""

        def pull(q: Floats, weight: Floats, target: Floats) -> tuple[float, Array]:
            return float(weight @ loss.values(q, target)), weight * loss.slope(q, target)

        return self._sums(theta, pull, 1)

    def diagonal(self, theta: Sequence[float] | Array, loss: Loss) -> Array:
        """Return the diagonal of the Gauss-Newton curvature of the mean loss, (P,)."""

        def pull(q: Floats, weight: Floats, target: Floats) -> tuple[float, Array]:
            return 0.0, weight * loss.curvature(q)

        return self._sums(theta, pull, 2)[1]

    def _sums(
        self,
        theta: Sequence[float] | Array,
        pull_of: Callable[[Floats, Floats, Floats], tuple[float, Array]],
        power: int,
    ) -> tuple[float, Array]:
        """Return means over training: of a value, and of pull·(∂q/∂θ)^power, (P,).

        pull_of  returns a block's sum of values and its pulls, from scores, weights and targets
        """
        middle, end = self.wiring.weights(theta, all_=False)

        def part(a: int, b: int) -> tuple[float, Floats, Floats]:
            rows = self.rows(a, b)
            q = self.of_rows(rows, a, b, middle, end) + self.offset[a:b]
            value, wide = pull_of(q, self.weight[a:b], self.target[a:b])
            pull = wide.astype(np.float32)
            rows.data **= power
            turned = rows.T
            if not self.wiring.tapered:
                return value, turned @ pull, pull[:0]
            phase = self._phase(a, b)
            return value, turned @ (pull * phase**power), turned @ (pull * (1 - phase) ** power)

        total, by_middle, by_end = 0.0, np.zeros(len(middle)), np.zeros(len(middle))
        for value, middle_part, end_part in self.map_blocks(part, *self.span(False)):
            total += value
            by_middle += middle_part
            if self.wiring.tapered:
                by_end += end_part
        weight = self.weights[0] or 1.0
        return total / weight, self.wiring.gathered(by_middle, by_end) / weight

    def jacobian(self, rows: Any, first: int, stop: int, wanted: npt.NDArray[np.bool_]) -> Floats:
        """Return ∂q/∂θ of the wanted positions of a span, (rows, P).

        rows  of the matrix, only the wanted ones
        """
        dense = rows.toarray()
        phase = self._phase(first, stop)[wanted] if self.wiring.tapered else None
        jacobian = np.zeros((len(dense), self.wiring.count), dtype=np.float32)
        halves = [(self.wiring.middle, phase)]
        if phase is not None:
            halves.append((self.wiring.end, 1 - phase))
        for places, share in halves:
            tuned = np.flatnonzero(places >= 0)
            counts = dense[:, tuned]
            jacobian[:, places[tuned]] += counts if share is None else counts * share[:, None]
        return jacobian

    def map_blocks(
        self, function: Callable[[int, int], Result], first: int, stop: int, block: int = BLOCK
    ) -> Iterator[Result]:
        """Yield the results of a function over blocks of positions, in order."""
        bounds = [(a, min(a + block, stop)) for a in range(first, stop, block)]
        if self.threads == 1 or len(bounds) == 1:
            for a, b in bounds:
                yield function(a, b)
            return
        under_way: deque[Future[Result]] = deque()
        for a, b in bounds:
            # few finished results wait for their turn
            if len(under_way) > 2 * self.threads:
                yield under_way.popleft().result()
            under_way.append(self._pool.submit(function, a, b))
        while under_way:
            yield under_way.popleft().result()

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        # not at the top: showing a tune needs no threads
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(self.threads, thread_name_prefix="linear")


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # no such call on macOS
        return os.cpu_count() or 1


#: Standard deviation of the score changes in a check, centipawns: much more than rounding, and
#: little beside a piece.
MOVED = 50.0
#: Largest change of a parameter as a share of its range.
_LARGEST_MOVE = 0.25
#: Positions that determine the size of the change.
_LOOKED_AT = 20_000
#: Smaller predicted changes are indistinguishable from rounding, centipawns.
_VISIBLE = 1.0
#: The model is refused beyond these limits of the correlation of predicted and real changes, and
#: of the real change for a predicted one.
LEAST_CORRELATION, SLOPES = 0.9, (0.8, 1.25)
#: Below this correlation the model is used with a warning.
_GOOD = 0.98
_SIDES = "counts must be White's (sente's) minus the other side's"


class FeatureCheck(msgspec.Struct, frozen=True):
    """Predicted against real numbers, centipawns.

    correlation  NaN if one of them does not vary
    slope        real change for a predicted change of 1, by least squares
    largest      largest difference
    spread       standard deviation of the predictions
    unsigned     correlation of absolute values
    count        positions
    """

    correlation: float
    slope: float
    largest: float
    spread: float
    unsigned: float
    count: int

    @classmethod
    def of(cls, predicted: Floats, real: Floats) -> FeatureCheck:
        """Compare predictions with real values, (n,) each, ignoring NaN."""
        known = ~(np.isnan(predicted) | np.isnan(real))
        x, y = predicted[known].astype(np.float64), real[known].astype(np.float64)
        if not len(x):
            return cls(math.nan, math.nan, math.nan, math.nan, math.nan, 0)
        spread = float(x.std())
        slope = float(((x - x.mean()) * (y - y.mean())).mean()) / spread**2 if spread else math.nan
        return cls(
            _correlation(x, y),
            slope,
            float(np.abs(y - x).max()),
            spread,
            _correlation(np.abs(x), np.abs(y)),
            len(x),
        )

    @property
    def numbers(self) -> str:
        """The result in one line."""
        return (
            f"correlation {self.correlation:.4f}, slope {self.slope:.3f}, largest difference "
            f"{self.largest:.0f} cp over {self.count:,} positions"
        )

    @property
    def problem(self) -> str:
        """Reason to refuse the model, "" if it can be used."""
        low, high = SLOPES
        if not self.count:
            return "no position has a score of both passes"
        if not self.spread > _VISIBLE:
            return (
                "the features hardly occur: a large change of all weights moves the model's "
                f"scores by {self.spread:.2f} cp; check that they belong to these positions"
            )
        if self.correlation >= LEAST_CORRELATION and low <= self.slope <= high:
            return ""
        reason = f"the engine's scores do not change as its features say ({self.numbers})"
        if self.correlation <= -LEAST_CORRELATION:
            return f"{reason}: all signs are reversed; {_SIDES}"
        if self.correlation < LEAST_CORRELATION <= self.unsigned:
            return (
                f"{reason}: the signs of some differ; {_SIDES}, not the mover's minus the other's"
            )
        if self.correlation >= LEAST_CORRELATION:
            return f"{reason}: a weight's unit must be a centipawn a count; scale the counts"
        if not self.correlation > 0.1:
            return (
                f"{reason}; check that the options reach the engine (`apply`), and check "
                "the names of the features"
            )
        return f"{reason}; the evaluation is not linear in these weights, or some counts are wrong"

    @property
    def doubtful(self) -> bool:
        """Whether the model can be used with a warning."""
        return not self.problem and self.correlation < _GOOD


def _correlation(x: Array, y: Array) -> float:
    spread = float(x.std() * y.std())
    if not spread > 0:
        return math.nan
    return float(((x - x.mean()) * (y - y.mean())).mean()) / spread


def perturbed(model: FeatureModel, space: Space, seed: int) -> tuple[float, ...]:
    """Return values around the start that move the scores enough for a check.

    All parameters move up or down at random.
    """
    count = len(space)
    bits = np.array([word & 1 for word in words(seed, TEXEL_LINEAR_STREAM, 0, count)])
    low, high = space.whole_bounds
    way = np.where(bits == 1, 1.0, -1.0)
    room = np.where(way > 0, high - space.start, space.start - low)
    # a start on a bound leaves one way only
    way = np.where(room <= 0, -way, way)
    room = np.where(way > 0, high - space.start, space.start - low)
    step = way * np.minimum(_LARGEST_MOVE * space.width, room)
    stop = min(model.train, _LOOKED_AT)
    spread = float(model.linear(step, 0, stop).std())
    if spread > MOVED:
        step = step * MOVED / spread
    theta = space.start + step
    whole = np.where(np.abs(step) < 0.5, space.start + np.sign(step), np.rint(theta))
    return tuple(np.clip(np.where(space.integer, whole, theta), low, high).tolist())
