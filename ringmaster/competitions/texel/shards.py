"""Into which shards a set of positions is divided: a function of its size alone, so that
no number depends on how many workers there were."""

from __future__ import annotations

from typing import Literal

import msgspec

#: Positions of a shard: as they should be, at least, at most.
SIZE, LEAST, MOST = 2_500, 200, 10_000
#: Shards of training at least, where there are positions enough: several workers are busy
#: to the end of a pass.
FEWEST = 16
#: Shards of training from which on they become larger instead.
MANY = 800
#: Positions that a probe is made with.
PROBED = 200


class Shards(msgspec.Struct, frozen=True):
    """The shards of a set: first those of training, then those of validation.

    train, validation  positions
    """

    train: int
    validation: int

    @property
    def size(self) -> int:
        """Positions of a shard, about."""
        size = min(max(SIZE, self.train // MANY), MOST)
        return min(size, max(LEAST, self.train // FEWEST))

    @property
    def of_train(self) -> int:
        """Shards of training."""
        return max(1, round(self.train / self.size))

    @property
    def of_validation(self) -> int:
        """Shards of validation."""
        return max(1, round(self.validation / self.size)) if self.validation else 0

    @property
    def total(self) -> int:
        """All shards."""
        return self.of_train + self.of_validation

    def positions(self, shard: int) -> range:
        """Return the positions of a shard, by their places in the position file."""
        if shard < self.of_train:
            return range(shard, self.train, self.of_train)
        end = self.train + self.validation
        return range(self.train + shard - self.of_train, end, self.of_validation)

    def of(self, part: str | tuple[int, ...]) -> list[int]:
        """Return the numbers of the shards that a pass is over, in their order."""
        if not isinstance(part, str):
            return list(part)
        of: dict[str, range] = {
            "train": range(self.of_train),
            "validation": range(self.of_train, self.total),
            "all": range(self.total),
        }
        return list(of[part])

    @property
    def probed(self) -> range:
        """The positions that a probe is made with: from all over training."""
        step = max(1, self.train // PROBED)
        return range(0, min(self.train, PROBED * step), step)


Half = Literal["train", "validation"]
