"""The positions in shards, with targets, weights and stored scores.

The division into shards depends on the numbers of positions alone, so no result depends on the
number of workers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.competitions.competition import ScoreSource
from ringmaster.competitions.texel.state import COMPARED, STATIC, Comparison, Labelling, score_key
from ringmaster.errors import SettingError, StoreCorrupt
from ringmaster.model.settings import SettingPath
from ringmaster.positions import PositionFile
from ringmaster.tuners.texel.loss import (
    LARGEST_SCORE,
    Fit,
    Floats,
    Loss,
    Numbers,
    ScoreHistogram,
    Sum,
    equal_results,
    mean,
    sigmoid,
)
from ringmaster.tuners.texel.optimiser import PARTS, Block, Errors, Split
from ringmaster.tuners.texel.targets import Mixture, Target, entropies_of, known_arguments

#: Positions of a shard: normal, least, most.
SIZE, LEAST, MOST = 2_500, 200, 10_000
#: Least number of training shards, if there are enough positions: all workers stay busy.
FEWEST = 16
#: With more training shards than this, shards become larger.
MANY = 800
#: Positions in a probe.
PROBED = 200


class Shards(msgspec.Struct, frozen=True):
    """The shards of numbers of positions: training first, then validation."""

    train: int
    validation: int

    @property
    def size(self) -> int:
        """Approximate number of positions in a shard."""
        size = min(max(SIZE, self.train // MANY), MOST)
        return min(size, max(LEAST, self.train // FEWEST))

    @property
    def of_train(self) -> int:
        return max(1, round(self.train / self.size))

    @property
    def of_validation(self) -> int:
        return max(1, round(self.validation / self.size)) if self.validation else 0

    @property
    def total(self) -> int:
        return self.of_train + self.of_validation

    def positions(self, shard: int) -> slice:
        """Return the positions of a shard, as places in the position file."""
        if shard < self.of_train:
            return slice(shard, self.train, self.of_train)
        end = self.train + self.validation
        return slice(self.train + shard - self.of_train, end, self.of_validation)

    def of(self, part: str | tuple[int, ...]) -> list[int]:
        """Return the shards of a pass, in order."""
        if not isinstance(part, str):
            return list(part)
        first = self.of_train if part == "validation" else 0
        return list(range(first, self.of_train if part == "train" else self.total))

    @property
    def probed(self) -> slice:
        """Positions of a probe, spread over training."""
        step = max(1, self.train // PROBED)
        return slice(0, min(self.train, PROBED * step), step)


#: Settings of win-rate scales.
SCALES = ("win_rate_scale", "teacher_scale")
#: Most positions whose labels are cached.
CACHED = 8_000_000
#: Bins of a calibration.
BINS = 20
#: Games that a calibration distinguishes; more share places.
_PLACES = 1 << 20


@contextmanager
def refusing(place: SettingPath, kind: type[Exception] = ValueError) -> Iterator[None]:
    """Raise an error of a kind as a SettingError at a place in the settings."""
    try:
        yield
    except kind as error:
        raise SettingError(place, str(error)) from None


class ShardLabels(msgspec.Struct, frozen=True):
    """Targets and weights of a shard, (n,) each."""

    target: Floats
    weight: Floats


class LabelledPositions:
    """The positions of a tune in shards: labels, filters and stored scores.

    They are the data of an optimiser (`tuners.texel.optimiser.Data`).

    beginning      number of restarts of the optimiser
    labelling      None before `label`
    target         by default the setting
    teacher_scale  win-rate scale of the teacher's scores, centipawns; set when it is known
    """

    def __init__(
        self,
        file: PositionFile,
        values: Mapping[str, Any],
        beginning: int,
        labelling: Labelling | None,
        source: ScoreSource,
        target: Target | None = None,
    ) -> None:
        self.file = file
        self.shards = Shards(file.train, file.validation)
        self.source = source
        self.labelling = labelling
        self.teacher_scale = None if labelling is None else labelling.teacher_scale
        self._values = values
        self._beginning = beginning
        self._target: Target = target or values["target"]
        self._cache: dict[int, ShardLabels] = {}
        self._cached = 0

    def under(self, target: Target) -> LabelledPositions:
        return LabelledPositions(
            self.file, self._values, self._beginning, self.labelling, self.source, target
        )

    @property
    def loss(self) -> Loss:
        """The loss of scores against targets; known after labelling."""
        assert self.labelling is not None
        return Loss(self._values["loss"], self.labelling.scale)

    def scores(self, number: int, shard: int) -> Floats:
        """Return scores of a kept pass.  Raises StoreCorrupt if they are missing."""
        data = self.source(score_key(self._beginning, number), shard)
        if data is None or len(data) != 4 * len(self.column("group", shard)):
            raise StoreCorrupt(
                f"the scores of pass {number}, shard {shard} are not in the status file"
            )
        return decode_scores(data)

    def column(self, name: str, shard: int) -> npt.NDArray[Any]:
        column: npt.NDArray[Any] = getattr(self.file, name)
        return column[self.shards.positions(shard)]

    def texts(self, shard: int) -> list[str]:
        places = self.shards.positions(shard)
        texts = self.file.texts(places.start, places.stop, places.step)
        return [text.decode("ascii", "replace") for text in texts]

    def blended(self, shard: int) -> tuple[float | int | None, ...]:
        """Return the arguments of a function of the target for the first position of a shard."""
        columns = (self.column(name, shard) for name in ("teacher", "ply", "progress"))
        score, ply, progress = (column[:1].tolist()[0] for column in columns)
        return known_arguments(score, ply, progress)

    def mixture(self, shard: int) -> Mixture:
        """Return the targets of a shard.  Raises SettingError if a user's function fails."""
        names = ("result", "teacher", "ply", "progress")
        result, teacher, ply, progress = (self.column(name, shard) for name in names)
        with refusing(("target",)):
            return self._target.mix(result, teacher, ply, progress, self.teacher_scale or 1.0)

    def labels(self, shard: int) -> ShardLabels:
        """Return targets and weights of a shard.  Raises SettingError if a function fails."""
        labels = self._cache.get(shard)
        if labels is None:
            mixture = self.mixture(shard)
            counts = mixture.kept & ~np.any([*self._left_out(shard).values()], axis=0)
            weight = np.where(counts, self.column("weight", shard), np.float32(0))
            labels = ShardLabels(mixture.target, weight.astype(np.float32))
            if self._cached + len(weight) <= CACHED:
                self._cache[shard] = labels
                self._cached += len(weight)
        return labels

    def _left_out(self, shard: int) -> dict[str, npt.NDArray[np.bool_]]:
        """Return disjoint masks of the positions left out by their scores, (n,), by reason."""
        start = self.scores(0, shard)
        nothing = ~np.isfinite(start)
        mate = ~nothing & (np.abs(start) >= LARGEST_SCORE)
        beyond = loud = np.zeros(len(start), dtype=np.bool_)
        settings = self._values["positions"]
        # the cap of teacher's scores has been applied by the reader
        cap, most = settings.score_cap, settings.quiet
        if cap is not None:
            beyond = np.isnan(self.column("teacher", shard)) & (np.abs(start) > cap) & ~mate
        if most is not None:
            static = start if self._values["score"].is_static else self.scores(STATIC, shard)
            # positions in check and mates lack a score
            near = np.abs(static.astype(np.float64) - self.scores(COMPARED, shard)) <= most
            loud = ~near & ~nothing & ~mate & ~beyond
        return {
            "no score": nothing,
            "mate": mate,
            "own score beyond the cap": beyond,
            "not quiet": loud,
        }

    def blocks(self, passes: Sequence[int], part: Split) -> Iterator[Block]:
        """Yield the scores of some passes with targets, weights and games, shard by shard."""
        for shard in self.shards.of(part):
            labels = self.labels(shard)
            scores = np.stack([self.scores(number, shard) for number in passes])
            group = self.column("group", shard).astype(np.uint32)
            places = self.shards.positions(shard)
            yield Block(places, scores, labels.target, labels.weight, group)

    def sum(self, shard: int, scores: Floats) -> Sum:
        labels = self.labels(shard)
        return self.loss.total(scores, labels.target, labels.weight)

    def check(self) -> list[str]:
        """Check the labels without the engine; return warnings.

        Raises SettingError for positions without the labels that the target needs, and for
        labels that contradict one another.
        """
        file, target = self.file, self._target
        train = slice(0, file.train)
        results = file.result[train][np.isfinite(file.result[train])]
        if target.needs_teacher and not np.isfinite(file.teacher[train]).any():
            raise SettingError(
                ("target",),
                "this target needs scores of a teacher, and the positions have none",
                "target = Texel(), or positions with scores",
            )
        if target.needs_result and not len(results):
            raise SettingError(
                ("target",),
                "this target needs results of games, and the positions have none",
                "target = Elmo(1.0), the teacher's scores alone, or positions with results",
            )
        if not len(results) and self._values["teacher_scale"] == "fit":
            raise SettingError(
                ("teacher_scale",),
                "it cannot be fitted without results of games",
                "the scale in centipawns, for example 600",
            )
        if target.needs_result and results.min() == results.max():
            raise SettingError(("positions",), equal_results(float(results[0])))
        if not (target.needs_teacher and target.needs_result):
            return []
        return list(filter(None, [self._fit(self._of_teacher(), "teacher's scores").warning]))

    def check_probed(self, scores: Floats) -> tuple[str, str]:
        """Return a problem and a warning about the scores of a probe, "" for none.

        A few positions cannot show that scores and labels do not belong together.
        """
        histogram, file = ScoreHistogram(), self.file
        part = self.shards.probed
        teacher = sigmoid(file.teacher[part].astype(np.float64) / 400)
        labels = file.result[part] if self._target.needs_result else teacher
        histogram.add(scores, labels, file.weight[part], file.group[part])
        problem = histogram.contradiction("scores")
        try:
            return problem, histogram.fit(self._values["loss"]).warning
        except ValueError:
            return problem, ""

    def label(self) -> Labelling:
        """Fix scales and weights by the scores of the start values.

        Labels are checked whether their scales are given or fitted.  Scales outlive restarts of
        the optimiser.
        Raises SettingError for labels that do not belong to the scores.
        """
        values, target, before = self._values, self._target, self.labelling
        given = {name: values[name] for name in SCALES if isinstance(values[name], float)}
        fits: dict[str, Fit] = {}
        self.teacher_scale = None
        if target.kind != "texel":
            checked = target.needs_teacher and target.needs_result
            if checked or "teacher_scale" not in given:
                fits["teacher_scale"] = self._fit(self._of_teacher(), "teacher's scores")
            kept = None if before is None else before.teacher_scale
            self.teacher_scale = given.get("teacher_scale") or kept or fits["teacher_scale"].scale
        weights, left_out = [], Counter[str]()
        for shard in range(self.shards.total):
            weights.append(float(self.labels(shard).weight.astype(np.float64).sum()))
            left_out.update({r: int(mask.sum()) for r, mask in self._left_out(shard).items()})
        if not math.fsum(weights[shard] for shard in self.shards.of("train")) > 0:
            raise SettingError(("positions",), "the filters leave out all positions")
        warnings = []
        scores = self._of_pass(0, by_target=not target.needs_result)
        if "win_rate_scale" in given and scores.is_flat:
            warnings.append(
                "the start values give all positions one score, so the labels are not checked"
            )
        else:
            fits["win_rate_scale"] = self._fit(scores, "scores")
        kept = None if before is None else before.scale
        self.labelling = Labelling(
            given.get("win_rate_scale") or kept or fits["win_rate_scale"].scale,
            self.teacher_scale,
            given=list(given),
            fits={name: fit.scale for name, fit in fits.items()},
            warnings=[*warnings, *(fit.warning for fit in fits.values() if fit.warning)],
            weights=weights,
            left_out={reason: count for reason, count in left_out.items() if count},
        )
        return self.labelling

    def _of_teacher(self) -> ScoreHistogram:
        """Return the teacher's scores with the results."""
        histogram = ScoreHistogram()
        for shard in self.shards.of("train"):
            names = ("teacher", "result", "weight", "group")
            histogram.add(*(self.column(name, shard) for name in names))
        return histogram

    def _of_pass(self, number: int, *, by_target: bool) -> ScoreHistogram:
        """Return the scores of a pass with the results, or with the targets."""
        histogram = ScoreHistogram()
        for shard in self.shards.of("train"):
            labels = self.labels(shard)
            wanted: Numbers = labels.target if by_target else self.column("result", shard)
            scores, games = self.scores(number, shard), self.column("group", shard)
            histogram.add(scores, wanted, labels.weight, games)
        return histogram

    def _fit(self, scores: ScoreHistogram, name: str, place: SettingPath = ("positions",)) -> Fit:
        """Return the scale of scores; `name` is theirs in messages.  Raises SettingError."""
        with refusing(place):
            return scores.fit(self._values["loss"], name)

    def unit_factor(self, number: int) -> float:
        """Return the factor of a pass's scores with the least error of training."""
        try:
            fit = self._of_pass(number, by_target=True).fit(self.loss.kind)
        except ValueError:  # no factor makes such scores better
            return 1.0
        return self.loss.scale / fit.scale

    def entropies(self, number: int, part: Split) -> dict[str, float | None]:
        """Return the entropies of a kept pass over a part, by name."""
        return entropies_of(
            self.loss,
            (
                (
                    self.scores(number, shard),
                    self.column("result", shard),
                    self.mixture(shard),
                    self.labels(shard).weight,
                )
                for shard in self.shards.of(part)
            ),
        )

    def compare(self, name: str, number: int, best: int | None) -> Comparison:
        """Return the errors of a reference and of the tune over the same positions.

        number  pass of the reference
        best    pass of the best values, None if unknown
        Raises SettingError if no scale fits the reference's scores.
        """
        loss = self.loss
        if not isinstance(self._values["win_rate_scale"], float):
            fitted = self._of_pass(number, by_target=not self._target.needs_result)
            loss = Loss(loss.kind, self._fit(fitted, "reference's scores", ("reference",)).scale)
        passes = [number, 0] if best is None else [number, 0, best]
        missing, means = 0.0, []
        for part in PARTS:
            sums: list[list[Sum]] = [[] for _ in passes]
            for block in self.blocks(passes, part):
                known = np.isfinite(block.scores[0])
                missing += float(block.weight[~known].sum())
                for place, scores in enumerate(block.scores):
                    own = self.loss if place else loss
                    sums[place].append(own.total(scores, block.target, block.weight * known))
            means.append([mean(each) for each in sums])
        reference, start, *tuned = (Errors(*pair) for pair in zip(*means, strict=True))
        return Comparison(name, loss.scale, missing, reference, start, *tuned)

    def calibration(self, number: int) -> list[list[float]]:
        """Return bins of σ of a kept pass, with six numbers each.

        [mean score, mean target, σ, weight, mean result, number of games with a result]
        """
        sums = np.zeros((6, BINS))
        games = np.zeros((BINS, _PLACES), dtype=bool)
        for shard in range(self.shards.total):
            labels, scores = self.labels(shard), self.scores(number, shard)
            counts = labels.weight > 0
            q = scores[counts].astype(np.float64)
            p = sigmoid(q / self.loss.scale)
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


def decode_scores(data: bytes) -> Floats:
    return np.frombuffer(data, dtype="<f4")
