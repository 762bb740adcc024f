"""A score that is a sum of counts times weights: its values, its loss and the derivatives of
that, over any number of positions.

    q = offset + A·θ                                 or, tapered,
    q = offset + ph·(A·θ_mg) + (1 − ph)·(A·θ_eg)

A has a row for each position and a column for each feature, few of them not 0; ph is the
phase, 1 in the opening.  The offset is what the tuned weights do not make.  Positions are
taken in blocks that fit into the processor's cache, two matrix-vector products forwards and
two backwards while they are there; SciPy's products and NumPy's loops let other threads run,
so the blocks are shared out among threads.  What the blocks give is added up in their order,
so the sums do not depend on the threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ringmaster.tuners.texel.loss import Array, Floats, Loss

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

#: Positions in a block.
BLOCK = 16384
#: The same where a dense matrix is made of it.
DENSE_BLOCK = 4096
#: Endings of the codes of a tapered evaluation's parameters.
MIDDLE, END = "_mg", "_eg"

Indices = npt.NDArray[np.intp]
Result = TypeVar("Result")


class Matrix(Protocol):
    """A sparse matrix by rows, as `positions.FeatureFile` has it: positions × features."""

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
    """Return the feature that a parameter is the weight of."""
    if tapered and code.endswith((MIDDLE, END)):
        return code[: -len(MIDDLE)]
    return code


def features_of(codes: Sequence[str], tapered: bool) -> tuple[str, ...]:
    """Return the features that parameters are the weights of, in their order."""
    return tuple(dict.fromkeys(feature_of(code, tapered) for code in codes))


@dataclass(frozen=True, eq=False)
class Wiring:
    """Which parameter is the weight of which feature.

    middle, end  (F,): the place of the parameter that is the weight in the opening and in
                 the endgame, −1 where it is not tuned; the same without tapering
    fixed_middle, fixed_end  (F,): the weights that are not tuned, 0 where there are none
    count        how many parameters there are
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
        """Return that of features by name and tuned parameters by code.

        fixed  values of parameters that are not tuned

        Raises ValueError when a parameter has no feature, or a weight two parameters.
        """
        place = {name: i for i, name in enumerate(names)}
        middle, end = (np.full(len(names), -1, dtype=np.intp) for _ in range(2))
        fixed_middle, fixed_end = (np.zeros(len(names), dtype=np.float32) for _ in range(2))
        taken: set[tuple[int, int]] = set()
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
                if (at, half) in taken:
                    raise ValueError(
                        f"feature {feature!r} has two parameters for one weight: {code}"
                    )
                taken.add((at, half))
                if number < len(codes):
                    (middle, end)[half][at] = number
                else:
                    (fixed_middle, fixed_end)[half][at] = (fixed or {})[code]
        return cls(middle, end, fixed_middle, fixed_end, len(codes), tapered)

    def weights(self, theta: Sequence[float] | Array, *, all_: bool) -> tuple[Floats, Floats]:
        """Return the weights of the features in the opening and in the endgame, (F,) each.

        all_  whether those that are not tuned are among them; else these are 0
        """
        values = np.append(np.asarray(theta, dtype=np.float64), 0.0)
        middle, end = values[self.middle].astype(np.float32), values[self.end].astype(np.float32)
        if all_:
            middle, end = middle + self.fixed_middle, end + self.fixed_end
        return middle, end

    def gathered(self, middle: Array, end: Array) -> Array:
        """Return what belongs to each parameter, (P,), of what belongs to each weight."""
        found = np.zeros(self.count + 1)
        found[self.middle] += middle
        if self.tapered:
            found[self.end] += end
        return found[:-1]


@dataclass(eq=False)
class FeatureModel:
    """Positions with their features and labels.

    offset, target, weight  (n,): as in `Block`; offset is the part of the score that the
                            tuned weights do not make
    train   how many positions are of training; they come first
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
        """Return first and last + 1 of a part's positions."""
        return (self.train, len(self.offset)) if held else (0, self.train)

    @cached_property
    def weights(self) -> tuple[float, float]:
        """The weight of all positions of training, and of validation."""
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
        """Return A·θ of rows that `rows` gave, θ as `Wiring.weights` has it."""
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
        """Return A·θ of some positions, in centipawns; `all_`: with the weights that are not
        tuned."""
        middle, end = self.wiring.weights(theta, all_=all_)

        def block(a: int, b: int) -> Floats:
            return self.of_rows(self.rows(a, b), a, b, middle, end)

        return np.concatenate([np.empty(0, np.float32), *self.map_blocks(block, first, stop)])

    def scores(self, theta: Sequence[float] | Array, first: int, stop: int) -> Floats:
        """Return the model's scores of some positions, in centipawns."""
        return self.linear(theta, first, stop) + self.offset[first:stop]

    def error(self, theta: Sequence[float] | Array, loss: Loss, held: bool = False) -> float:
        """Return the mean loss over training or validation."""
        middle, end = self.wiring.weights(theta, all_=False)

        def block(a: int, b: int) -> float:
            q = self.of_rows(self.rows(a, b), a, b, middle, end) + self.offset[a:b]
            return float(self.weight[a:b] @ loss.values(q, self.target[a:b]))

        return sum(self.map_blocks(block, *self.span(held))) / self.weights[held]

    def gradient(
        self,
        theta: Sequence[float] | Array,
        loss: Loss,
        span: tuple[int, int] | None = None,
        block: int = BLOCK,
    ) -> tuple[float, Array]:
        """Return the mean loss over positions of training and its derivative by θ, (P,).

        span  first and last + 1 of the positions; None: all of training
        """
        middle, end = self.wiring.weights(theta, all_=False)
        tapered = self.wiring.tapered

        def part(a: int, b: int) -> tuple[float, Floats, Floats]:
            rows = self.rows(a, b)
            weight = self.weight[a:b]
            q = self.of_rows(rows, a, b, middle, end) + self.offset[a:b]
            values, slopes = loss.values(q, self.target[a:b]), loss.slope(q, self.target[a:b])
            pull = (weight * slopes).astype(np.float32)
            turned = rows.T
            if not tapered:
                return float(weight @ values), turned @ pull, pull[:0]
            opening = pull * self._phase(a, b)
            return float(weight @ values), turned @ opening, turned @ (pull - opening)

        first, stop = span or self.span(False)
        total, by_middle, by_end = 0.0, np.zeros(len(middle)), np.zeros(len(middle))
        for value, of_middle, of_end in self.map_blocks(part, first, stop, block):
            total += value
            by_middle += of_middle
            if tapered:
                by_end += of_end
        weight = self.weights[0] if span is None else float(self.weight[first:stop].sum())
        weight = weight or 1.0
        return total / weight, self.wiring.gathered(by_middle, by_end) / weight

    def jacobian(self, rows: Any, first: int, stop: int, wanted: npt.NDArray[np.bool_]) -> Floats:
        """Return ∂q/∂θ of the wanted ones of some positions, (rows, P).

        rows  of the matrix, those that are wanted
        """
        dense = rows.toarray()
        phase = self._phase(first, stop)[wanted] if self.wiring.tapered else None
        found = np.zeros((len(dense), self.wiring.count), dtype=np.float32)
        halves = [(self.wiring.middle, phase)]
        if phase is not None:
            halves.append((self.wiring.end, 1 - phase))
        for places, share in halves:
            tuned = np.flatnonzero(places >= 0)
            counts = dense[:, tuned]
            found[:, places[tuned]] += counts if share is None else counts * share[:, None]
        return found

    def diagonal(self, theta: Sequence[float] | Array, loss: Loss) -> Array:
        """Return the diagonal of what Gauss and Newton take for the second derivative of the
        mean loss over training, (P,)."""
        middle, end = self.wiring.weights(theta, all_=False)

        def part(a: int, b: int) -> tuple[Floats, Floats]:
            rows = self.rows(a, b)
            q = self.of_rows(rows, a, b, middle, end) + self.offset[a:b]
            pull = (self.weight[a:b] * loss.curvature(q)).astype(np.float32)
            rows.data **= 2
            turned = rows.T
            if not self.wiring.tapered:
                return turned @ pull, pull[:0]
            phase = self._phase(a, b)
            return turned @ (pull * phase**2), turned @ (pull * (1 - phase) ** 2)

        by_middle, by_end = np.zeros(len(middle)), np.zeros(len(middle))
        for of_middle, of_end in self.map_blocks(part, *self.span(False)):
            by_middle += of_middle
            if self.wiring.tapered:
                by_end += of_end
        return self.wiring.gathered(by_middle, by_end) / self.weights[0]

    def map_blocks(
        self, function: Callable[[int, int], Result], first: int, stop: int, block: int = BLOCK
    ) -> Iterator[Result]:
        """Yield what a function gives of the blocks of positions, in their order."""
        bounds = [(a, min(a + block, stop)) for a in range(first, stop, block)]
        if self.threads == 1 or len(bounds) == 1:
            for a, b in bounds:
                yield function(a, b)
            return
        under_way: deque[Future[Result]] = deque()
        for a, b in bounds:
            # what has been found waits for its turn; no more than a few may
            if len(under_way) > 2 * self.threads:
                yield under_way.popleft().result()
            under_way.append(self._pool.submit(function, a, b))
        while under_way:
            yield under_way.popleft().result()

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        # not at the top: the state of a tune can be shown without threads
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(self.threads, thread_name_prefix="linear")


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # no such call on macOS
        return os.cpu_count() or 1
