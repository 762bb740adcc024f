"""The positions in shards, with targets, weights and stored scores.

The division into shards depends on the numbers of positions alone, so no result depends on the
number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.competitions.texel.score_setting import MATE
from ringmaster.errors import SettingError
from ringmaster.positions import PositionFile
from ringmaster.tuners.texel.loss import (
    Fit,
    Floats,
    Loss,
    LossKind,
    Numbers,
    ScoreHistogram,
    Sum,
    sigmoid,
)
from ringmaster.tuners.texel.optimiser import Block, Split
from ringmaster.tuners.texel.targets import Entropies, Mixture, Target, known_arguments

#: Positions of a shard: normal, least, most.
SIZE, LEAST, MOST = 2_500, 200, 10_000
#: Least number of training shards, if there are enough positions: all workers stay busy.
FEWEST = 16
#: With more training shards than this, shards become larger.
MANY = 800
#: Positions in a probe.
PROBED = 200


class Shards(msgspec.Struct, frozen=True):
    """The shards of a set: training first, then validation.

    train, validation  numbers of positions
    """

    train: int
    validation: int

    @property
    def size(self) -> int:
        """Approximate number of positions in a shard."""
        size = min(max(SIZE, self.train // MANY), MOST)
        return min(size, max(LEAST, self.train // FEWEST))

    @property
    def of_train(self) -> int:
        """Number of training shards."""
        return max(1, round(self.train / self.size))

    @property
    def of_validation(self) -> int:
        """Number of validation shards."""
        return max(1, round(self.validation / self.size)) if self.validation else 0

    @property
    def total(self) -> int:
        """Number of shards."""
        return self.of_train + self.of_validation

    def positions(self, shard: int) -> range:
        """Return the positions of a shard, as places in the position file."""
        if shard < self.of_train:
            return range(shard, self.train, self.of_train)
        end = self.train + self.validation
        return range(self.train + shard - self.of_train, end, self.of_validation)

    def of(self, part: str | tuple[int, ...]) -> list[int]:
        """Return the shards of a pass, in order."""
        if not isinstance(part, str):
            return list(part)
        parts: dict[str, range] = {
            "train": range(self.of_train),
            "validation": range(self.of_train, self.total),
            "all": range(self.total),
        }
        return list(parts[part])

    @property
    def probed(self) -> range:
        """Positions of a probe, spread over training."""
        step = max(1, self.train // PROBED)
        return range(0, min(self.train, PROBED * step), step)


#: Returns the scores of a pass and a shard.
Scores = Callable[[int, int], Floats]
#: Most positions whose labels are cached.
CACHED = 8_000_000
#: Reason to leave out positions with a large score of the engine.
CAPPED = "own score beyond the cap"
#: Bins of a calibration, and numbers of each.
BINS, COLUMNS = 20, 6
#: Games that a calibration distinguishes; more share places.
_PLACES = 1 << 20


class ShardLabels(msgspec.Struct, frozen=True):
    """Targets and weights of a shard, (n,) each."""

    target: Floats
    weight: Floats


class ShardedPositions:
    """The positions of a competition in shards.

    usable  returns whether the positions of a shard count
    scores  returns the stored scores of a pass and a shard
    """

    def __init__(
        self,
        file: PositionFile,
        target: Target,
        usable_positions: Callable[[int], npt.NDArray[np.bool_]],
        scores: Scores,
    ) -> None:
        self.file = file
        self.shards = Shards(file.train, file.validation)
        self._target = target
        self._usable = usable_positions
        self._scores = scores
        self._cache: dict[int, ShardLabels] = {}
        self._cached = 0

    def forget(self) -> None:
        """Clear cached labels after a change."""
        self._cache.clear()
        self._cached = 0

    def column(self, name: str, shard: int) -> npt.NDArray[np.float32]:
        """Return a column of the position file for a shard."""
        places = self.shards.positions(shard)
        column: npt.NDArray[np.float32] = getattr(self.file, name)[
            places.start : places.stop : places.step
        ]
        return column

    def text(self, shard: int, place: int) -> str:
        """Return a position of a shard."""
        return self.file.text(self.shards.positions(shard)[place]).decode("ascii", "replace")

    def texts(self, shard: int) -> list[str]:
        """Return all positions of a shard."""
        places = self.shards.positions(shard)
        texts = self.file.texts(places.start, places.stop, places.step)
        return [text.decode("ascii", "replace") for text in texts]

    def blended(self, shard: int) -> tuple[float | int | None, ...]:
        """Return the arguments of a function of the target for the first position of a shard."""
        columns = (self.column(name, shard) for name in ("teacher", "ply", "progress"))
        score, ply, progress = (column[:1].tolist()[0] for column in columns)
        return known_arguments(score, ply, progress)

    def mixture(self, shard: int, teacher_scale: float | None) -> Mixture:
        """Return the targets of a shard.  Raises SettingError if a user's function fails."""
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

    def labels(self, shard: int, teacher_scale: float | None) -> ShardLabels:
        """Return targets and weights of a shard.  Raises SettingError, see `mixture`."""
        labels = self._cache.get(shard)
        if labels is None:
            mixture = self.mixture(shard, teacher_scale)
            counts = mixture.kept & self._usable(shard)
            weight = np.where(counts, self.column("weight", shard), np.float32(0))
            labels = ShardLabels(mixture.target, weight.astype(np.float32))
            if self._cached + len(weight) <= CACHED:
                self._cache[shard] = labels
                self._cached += len(weight)
        return labels

    def under(self, target: Target) -> ShardedPositions:
        """Return the same positions with another target."""
        return ShardedPositions(self.file, target, self._usable, self._scores)

    def fit_teacher(self, kind: LossKind) -> Fit:
        """Return the fitted scale of the teacher's scores.  Raises ValueError."""
        histogram = ScoreHistogram()
        for shard in self.shards.of("train"):
            histogram.add(
                self.column("teacher", shard),
                self.column("result", shard),
                self.column("weight", shard),
            )
        return histogram.fit(kind, "teacher's scores")

    def fit_scale(
        self, number: int, kind: LossKind, teacher_scale: float | None, name: str = "scores"
    ) -> Fit:
        """Return the scale of a pass, fitted to results, or without results to targets.

        name  name of the scores in messages
        Raises ValueError.
        """
        histogram = ScoreHistogram()
        shards = self.shards.of("train")
        known = any(not np.isnan(self.column("result", shard)).all() for shard in shards)
        for shard in shards:
            labels = self.labels(shard, teacher_scale)
            wanted: Numbers = self.column("result", shard) if known else labels.target
            histogram.add(self._scores(number, shard), wanted, labels.weight)
        return histogram.fit(kind, name)

    def entropies(self, number: int, part: Split, loss: Loss, scale: float | None) -> Entropies:
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
        """Return bins of σ of a kept pass, with `COLUMNS` numbers each.

        [mean score, mean target, σ, weight, mean result, number of games with a result]
        """
        sums = np.zeros((6, BINS))
        games = np.zeros((BINS, _PLACES), dtype=bool)
        for shard in range(self.shards.total):
            labels, scores = self.labels(shard, scale), self._scores(number, shard)
            counts = labels.weight > 0
            q = scores[counts].astype(np.float64)
            p = sigmoid(q / loss.scale)
            w = labels.weight[counts].astype(np.float64)
            place = np.minimum((p * BINS).astype(np.int64), BINS - 1)
            result = self.column("result", shard)[counts].astype(np.float64)
            known = ~np.isnan(result)
            own = w * known
            rows = (w * q, w * labels.target[counts], w * p, w, own * np.nan_to_num(result), own)
            for row, values in enumerate(rows):
                sums[row] += np.bincount(place, values, BINS)
            group = self.column("group", shard)[counts].astype(np.int64)
            games[place[known], group[known] % _PLACES] = True
        number_of_games = games.sum(axis=1)
        return [
            [
                *(column[:3] / column[3]).tolist(),
                float(column[3]),
                float(column[4] / column[5]) if column[5] else 0.5,
                int(number_of_games[i]),
            ]
            for i, column in enumerate(sums.T)
            if column[3] > 0
        ]


class TrainingData:
    """The data of an optimiser (`tuners.texel.optimiser.Data`)."""

    def __init__(
        self, positions: ShardedPositions, scores: Scores, loss: Loss, teacher_scale: float | None
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

    def under(self, target: Target) -> TrainingData:
        """Return the same positions with another target."""
        positions = self._positions.under(target)
        return TrainingData(positions, self._scores, self._loss, self._teacher_scale)

    def blocks(self, passes: Sequence[int], part: Split) -> Iterator[Block]:
        """Yield the scores of some passes with targets, weights and games, shard by shard."""
        for shard in self._positions.shards.of(part):
            labels = self._positions.labels(shard, self._teacher_scale)
            group = self._positions.column("group", shard)
            kept = [self._scores(number, shard) for number in passes]
            scores = np.stack(kept) if kept else np.empty((0, len(labels.target)), dtype=np.float32)
            yield Block(scores, labels.target, labels.weight, group.astype(np.uint32))

    def sum(self, shard: int, scores: Floats) -> Sum:
        """Return the loss of a shard."""
        labels = self._positions.labels(shard, self._teacher_scale)
        return self._loss.total(scores, labels.target, labels.weight)


def usable_positions(
    scores: Floats, quiet: tuple[Floats, Floats, float] | None, capped: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Return whether positions count by their scores, (n,).

    They need a score that is no mate and below the cap.  `quiet` adds the quiet filter: two scores
    and their largest difference.
    """
    counts = np.isfinite(scores) & (np.abs(scores) < MATE) & ~capped
    if quiet is not None:
        static, compared, most = quiet
        # positions in check and mates lack a score
        counts &= np.abs(static.astype(np.float64) - compared) <= most
    return np.asarray(counts)


def count_left_out(
    positions: ShardedPositions,
    scores: Scores,
    quiet: Callable[[int], tuple[Floats, Floats, float] | None],
    capped: Callable[[int], npt.NDArray[np.bool_]],
) -> dict[str, int]:
    """Return the number of positions left out, by reason."""
    counts = {"no score": 0, "mate": 0, CAPPED: 0, "not quiet": 0}
    for shard in range(positions.shards.total):
        start = scores(0, shard)
        nothing = ~np.isfinite(start)
        mate = ~nothing & (np.abs(start) >= MATE)
        counts["no score"] += int(nothing.sum())
        counts["mate"] += int(mate.sum())
        beyond = capped(shard) & ~nothing & ~mate
        counts[CAPPED] += int(beyond.sum())
        compared = quiet(shard)
        if compared is not None:
            quiet_ones = usable_positions(start, compared, beyond)
            counts["not quiet"] += int((~quiet_ones & ~nothing & ~mate & ~beyond).sum())
    return {reason: count for reason, count in counts.items() if count}


def decode_scores(data: bytes) -> Floats:
    """Return scores from their stored form."""
    return np.frombuffer(data, dtype="<f4")
