"""The positions with their targets and weights, and the scores that the store has: what an
optimiser is shown, a shard at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.competitions.texel.scoring import MATE
from ringmaster.competitions.texel.shards import Half, Shards
from ringmaster.errors import SettingError
from ringmaster.positions import PositionFile
from ringmaster.tuners.texel.loss import Floats, Loss, LossKind, Numbers, Sum, sigmoid
from ringmaster.tuners.texel.optimiser import Block
from ringmaster.tuners.texel.scale import Fit, ScoreHistogram
from ringmaster.tuners.texel.targets import Entropies, Mixture, Target

#: Gives the scores of a shard of one of the optimiser's passes.
Scores = Callable[[int, int], Floats]
#: Positions whose labels are kept in memory, at most.
CACHED = 8_000_000
#: Why positions do not count whose own score is too large.
CAPPED = "own score beyond the cap"
#: Bins of a calibration.
BINS = 20


class Labels(msgspec.Struct, frozen=True):
    """Targets and weights of a shard, (n,) each."""

    target: Floats
    weight: Floats


class Positions:
    """The positions of an event in their shards.

    usable  whether each position of a shard counts, by what the engine said of it
    scores  gives what the engine said in a pass
    """

    def __init__(
        self,
        file: PositionFile,
        target: Target,
        usable: Callable[[int], npt.NDArray[np.bool_]],
        scores: Scores,
    ) -> None:
        self.file = file
        self.shards = Shards(file.train, file.validation)
        self._target = target
        self._usable = usable
        self._scores = scores
        self._cache: dict[int, Labels] = {}
        self._cached = 0

    def forget(self) -> None:
        """Forget labels that were found before something of them changed."""
        self._cache.clear()
        self._cached = 0

    def column(self, name: str, shard: int) -> npt.NDArray[np.float32]:
        """Return a column of the position file for a shard."""
        places = self.shards.positions(shard)
        found: npt.NDArray[np.float32] = getattr(self.file, name)[
            places.start : places.stop : places.step
        ]
        return found

    def text(self, shard: int, place: int) -> str:
        """Return a position of a shard."""
        return self.file.text(self.shards.positions(shard)[place]).decode("ascii", "replace")

    def texts(self, shard: int) -> list[str]:
        """Return all positions of a shard."""
        places = self.shards.positions(shard)
        found = self.file.texts(places.start, places.stop, places.step)
        return [text.decode("ascii", "replace") for text in found]

    def mixture(self, shard: int, teacher_scale: float | None) -> Mixture:
        """Return the targets of a shard.  Raises SettingError where a function of the
        control file fails."""
        try:
            return self._target.mix(
                self.column("result", shard),
                self.column("teacher", shard),
                self.column("ply", shard),
                self.column("progress", shard),
                teacher_scale or 1.0,
            )
        except ValueError as error:
            raise SettingError(("target",), str(error)) from None

    def labels(self, shard: int, teacher_scale: float | None) -> Labels:
        """Return targets and weights of a shard; raises SettingError likewise."""
        found = self._cache.get(shard)
        if found is None:
            mixture = self.mixture(shard, teacher_scale)
            counts = mixture.kept & self._usable(shard)
            weight = np.where(counts, self.column("weight", shard), np.float32(0))
            found = Labels(mixture.target, weight.astype(np.float32))
            if self._cached + len(weight) <= CACHED:
                self._cache[shard] = found
                self._cached += len(weight)
        return found

    def under(self, target: Target) -> Positions:
        """Return the same positions with another target."""
        return Positions(self.file, target, self._usable, self._scores)

    # what is fitted

    def fit_teacher(self, kind: LossKind) -> Fit:
        """Return the scale of the teacher's scores.  Raises ValueError."""
        histogram = ScoreHistogram()
        for shard in self.shards.of("train"):
            histogram.add(
                self.column("teacher", shard),
                self.column("result", shard),
                self.column("weight", shard),
            )
        return histogram.fit(kind, "teacher's scores")

    def fit_scale(self, kind: LossKind, teacher_scale: float | None) -> Fit:
        """Return the scale of the start values' scores: of the results, or, where there are
        none, of the targets.  Raises ValueError."""
        histogram = ScoreHistogram()
        known = any(
            not np.isnan(self.column("result", shard)).all() for shard in self.shards.of("train")
        )
        for shard in self.shards.of("train"):
            labels = self.labels(shard, teacher_scale)
            wanted: Numbers = self.column("result", shard) if known else labels.target
            histogram.add(self._scores(0, shard), wanted, labels.weight)
        return histogram.fit(kind)

    # what is reported

    def entropies(self, number: int, part: Half, loss: Loss, scale: float | None) -> Entropies:
        """Return the entropies of a kept pass over a part."""
        return Entropies.combined(
            Entropies.of(
                loss,
                self._scores(number, shard),
                self.column("result", shard),
                self.mixture(shard, scale),
                self.labels(shard, scale).weight,
            )
            for shard in self.shards.of(part)
        )

    def calibration(self, number: int, loss: Loss, scale: float | None) -> list[list[float]]:
        """Return, for scores of a kept pass in bins, [mean score, mean target, σ, weight]."""
        sums = np.zeros((4, BINS))
        for shard in range(self.shards.total):
            labels, scores = self.labels(shard, scale), self._scores(number, shard)
            counts = labels.weight > 0
            q = scores[counts].astype(np.float64)
            p = sigmoid(q / loss.scale)
            w = labels.weight[counts].astype(np.float64)
            place = np.minimum((p * BINS).astype(np.int64), BINS - 1)
            for row, values in enumerate((w * q, w * labels.target[counts], w * p, w)):
                sums[row] += np.bincount(place, values, BINS)
        return [
            [*(column[:3] / column[3]).tolist(), float(column[3])]
            for column in sums.T
            if column[3] > 0
        ]


class EventData:
    """What an optimiser is shown (`tuners.texel.optimiser.Data`)."""

    def __init__(
        self, positions: Positions, scores: Scores, loss: Loss, teacher_scale: float | None
    ) -> None:
        self._positions = positions
        self._scores = scores
        self._loss = loss
        self._teacher_scale = teacher_scale

    @property
    def loss(self) -> Loss:
        """The loss of scores against targets."""
        return self._loss

    @property
    def teacher_scale(self) -> float | None:
        """Win-rate scale of the teacher's scores, centipawns."""
        return self._teacher_scale

    def under(self, target: Target) -> EventData:
        """Return the same positions with another target."""
        positions = self._positions.under(target)
        return EventData(positions, self._scores, self._loss, self._teacher_scale)

    def blocks(
        self, passes: Sequence[int], part: Literal["train", "validation"]
    ) -> Iterator[Block]:
        """See `Data.blocks`."""
        for shard in self._positions.shards.of(part):
            labels = self._positions.labels(shard, self._teacher_scale)
            group = self._positions.column("group", shard)
            found = [self._scores(number, shard) for number in passes]
            scores = (
                np.stack(found) if found else np.empty((0, len(labels.target)), dtype=np.float32)
            )
            yield Block(scores, labels.target, labels.weight, group.astype(np.uint32))

    def sum(self, shard: int, scores: Floats) -> Sum:
        """Return the loss of a shard."""
        labels = self._positions.labels(shard, self._teacher_scale)
        return self._loss.total(scores, labels.target, labels.weight)


def usable(
    scores: Floats, quiet: tuple[Floats, Floats, float] | None, capped: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Return which positions count by what the engine said of them: those with a score that
    is no mate, without the capped ones, and, with `quiet` (two scores, and how far apart they
    may be), quiet ones."""
    counts = np.isfinite(scores) & (np.abs(scores) < MATE) & ~capped
    if quiet is not None:
        static, compared, most = quiet
        # a position without one of the scores is in check, or mate
        counts &= np.abs(static.astype(np.float64) - compared) <= most
    return np.asarray(counts)


def left_out(
    positions: Positions,
    scores: Scores,
    quiet: Callable[[int], tuple[Floats, Floats, float] | None],
    capped: Callable[[int], npt.NDArray[np.bool_]],
) -> dict[str, int]:
    """Return how many positions do not count, by reason."""
    found = {"no score": 0, "mate": 0, CAPPED: 0, "not quiet": 0}
    for shard in range(positions.shards.total):
        start = scores(0, shard)
        nothing = ~np.isfinite(start)
        mate = ~nothing & (np.abs(start) >= MATE)
        found["no score"] += int(nothing.sum())
        found["mate"] += int(mate.sum())
        beyond = capped(shard) & ~nothing & ~mate
        found[CAPPED] += int(beyond.sum())
        compared = quiet(shard)
        if compared is not None:
            quiet_ones = usable(start, compared, beyond)
            found["not quiet"] += int((~quiet_ones & ~nothing & ~mate & ~beyond).sum())
    return {reason: count for reason, count in found.items() if count}


def as_scores(data: bytes) -> Floats:
    """Return scores as they are stored."""
    return np.frombuffer(data, dtype="<f4")


def means(losses: Sequence[float], weights: Mapping[int, float], shards: Sequence[int]) -> Sum:
    """Return the exact sums of some shards, whatever the order in which they came."""
    import math

    return Sum(math.fsum(losses), math.fsum(weights[shard] for shard in shards))
