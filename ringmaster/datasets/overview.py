"""What a labelled set looks like: results by score, plies, duplicates, balance.  It is
what shows at once when scores or results are told from the wrong side."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt

from ringmaster.datasets.recorded_game import MATE
from ringmaster.datasets.sanity import Labels, contradiction
from ringmaster.datasets.settings import Pov
from ringmaster.model.players import GameName
from ringmaster.model.report import Report, Table, Text

#: Where the buckets of scores end, in centipawns from the side that moves first.
_EDGES = np.array([-1000, -600, -300, -150, -75, -25, 25, 75, 150, 300, 600, 1000], float)
#: Plies in a bucket, and buckets.
_PLIES, _PLY_BUCKETS = 20, 12
_BAR = 40

Floats = npt.NDArray[np.float32]

_NAMES: dict[GameName, tuple[str, str]] = {
    "chess": ("White", "Black"),
    "shogi": ("Black", "White"),
    "go": ("Black", "White"),
}


class Overview:
    """Counts of labelled positions.  Memory grows by eight bytes a position, by which
    duplicates are known."""

    def __init__(self, game: GameName, result: Pov = "first", score: Pov = "first") -> None:
        """result, score: whose side they are told from in the file that this is of"""
        self._names = _NAMES[game]
        self._povs = result, score
        self._second = b"w" if game == "shogi" else b"b"
        #: How many fields of a position are counters.
        self._counters = 1 if game == "shogi" else 2
        self._hashes: list[npt.NDArray[np.int64]] = []
        self.positions = 0
        self._sides = np.zeros(2, int)
        #: Results: lost, drawn, won by the first side; between; unknown.
        self._results = np.zeros(5, int)
        self._unscored = self._mates = 0
        self._sum_of_results = np.zeros((2, len(_EDGES) + 1))
        self._scored = np.zeros((2, len(_EDGES) + 1), int)
        self._plies = np.zeros(_PLY_BUCKETS + 1, int)
        self._labels = Labels()

    def add(
        self,
        texts: list[bytes],
        result: Floats,
        score: Floats,
        ply: npt.NDArray[np.int32],
        material: Floats | None = None,
    ) -> None:
        """Count positions.

        texts          FEN or SFEN, with their counters
        result, score  from the side that moves first, NaN unknown
        ply            plies played before, below 0 unknown
        material       on the board, from the same side; None unknown
        """
        count = len(texts)
        if not count:
            return
        self.positions += count
        counters = self._counters
        keys = [hash(text.rsplit(b" ", counters)[0]) for text in texts]
        self._hashes.append(np.array(keys, np.int64))
        second = self._second
        side = np.array([text.split(b" ", 2)[1] == second for text in texts], np.uint8)
        self._sides += np.bincount(side, minlength=2)
        unknown = np.isnan(result)
        kind = np.select([unknown, result == 0, result == 0.5, result == 1], [4, 0, 1, 2], 3)
        self._results += np.bincount(kind, minlength=5)
        missing = np.isnan(score)
        self._unscored += int(missing.sum())
        self._mates += int((np.abs(score) >= MATE).sum())
        both = ~missing & ~unknown
        s, r = score[both], result[both]
        buckets = np.searchsorted(_EDGES, s) + side[both] * (len(_EDGES) + 1)
        size = self._scored.size
        self._scored += np.bincount(buckets, minlength=size).reshape(2, -1)
        self._sum_of_results += np.bincount(buckets, r, minlength=size).reshape(2, -1)
        known = ply >= 0
        plies = np.minimum(ply[known].astype(int) // _PLIES, _PLY_BUCKETS - 1)
        self._plies[:-1] += np.bincount(plies, minlength=_PLY_BUCKETS)
        self._plies[-1] += count - int(known.sum())
        nothing = np.full(count, np.nan, np.float32)
        self._labels.add(result, score, nothing if material is None else material, side)

    @property
    def duplicates(self) -> int:
        """How many positions have come before, counters apart."""
        if not self._hashes:
            return 0
        self._hashes = [np.concatenate(self._hashes)]
        return self.positions - len(np.unique(self._hashes[0]))

    def warnings(self) -> list[str]:
        """Return what is doubtful, a sentence each."""
        said = []
        known = self._results[:4].sum()
        if known and max(self._results[:4]) == known and known > 1:
            said.append("all results are equal: nothing can be learnt from them")
        wrong, _ = contradiction(self._labels, self._names, *self._povs)
        return [*said, wrong] if wrong else said

    def _correlation(self, side: int) -> float:
        """Return the correlation of result and score; 0 where there is none."""
        n, r, s, rr, ss, rs = self._labels.sums[side, 0].tolist()
        spread = (ss - s * s / n) * (rr - r * r / n) if n > 1 else 0.0
        return (rs - s * r / n) / math.sqrt(spread) if spread > 1e-12 * n else 0.0

    def report(self) -> Report:
        """Return the tables that a person reads."""
        if not self.positions:
            return Report((Text(("no positions",)),))
        blocks: list[Table | Text] = [self._balance()]
        if self._scored.sum():
            blocks.append(self._by_score())
        blocks.append(self._by_ply())
        if warnings := self.warnings():
            blocks.append(Text(tuple(f"WARNING: {text}" for text in warnings)))
        return Report(tuple(blocks))

    def _balance(self) -> Table:
        first, second = self._names
        lost, drawn, won, between, unknown = map(int, self._results)
        count = self.positions
        rows = [
            ("positions", count, ""),
            (f"{first} to move", int(self._sides[0]), _share(self._sides[0], count)),
            (f"{second} to move", int(self._sides[1]), _share(self._sides[1], count)),
            (f"won by {first}", won, _share(won, count)),
            ("drawn", drawn, _share(drawn, count)),
            (f"won by {second}", lost, _share(lost, count)),
        ]
        optional = [
            ("averaged results", between),
            ("without a result", unknown),
            ("without a score", self._unscored),
            ("mate scores", self._mates),
        ]
        rows += [(name, number, _share(number, count)) for name, number in optional if number]
        duplicates = self.duplicates
        rows.append(("duplicates", duplicates, _share(duplicates, count)))
        return Table(("", "", ""), tuple(rows))

    def _by_score(self) -> Table:
        first, second = self._names
        rows = []
        labels = [f"below {_EDGES[0]:+.0f}"]
        labels += [f"{low:+.0f} to {high:+.0f}" for low, high in itertools.pairwise(_EDGES)]
        labels += [f"above {_EDGES[-1]:+.0f}"]
        for at, label in enumerate(labels):
            counts, sums = self._scored[:, at], self._sum_of_results[:, at]
            if counts.sum():
                rows.append(
                    (
                        label,
                        int(counts.sum()),
                        _share(sums.sum(), counts.sum()),
                        _share(sums[0], counts[0]),
                        _share(sums[1], counts[1]),
                    )
                )
        notes = [
            f"correlation of score and result: {self._correlation(0):+.3f} with {first} to move, "
            f"{self._correlation(1):+.3f} with {second} to move"
        ]
        return Table(
            (
                f"score ({first}'s, cp)",
                "positions",
                "mean result",
                f"{first} moves",
                f"{second} moves",
            ),
            tuple(rows),
            title=f"mean result of {first} by score, all and by who is to move",
            notes=tuple(notes),
        )

    def _by_ply(self) -> Table:
        most = max(1, int(self._plies.max()))
        rows = []
        for at, number in enumerate(map(int, self._plies)):
            low = at * _PLIES
            label = f"{low}-{low + _PLIES - 1}"
            if at == _PLY_BUCKETS - 1:
                label = f"{low} or more"
            elif at == _PLY_BUCKETS:
                label = "unknown"
            if number:
                rows.append((label, number, "#" * max(1, round(_BAR * number / most))))
        return Table(("plies", "positions", ""), tuple(rows), align=("left", "right", "left"))


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"
