"""Build a position file from labelled positions.

Duplicates are merged, games are split into training and validation, and notes describe
everything that was left out.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ringmaster.datasets.boards import Mask
from ringmaster.datasets.ingest import Ingest
from ringmaster.datasets.position_settings import PositionSettings
from ringmaster.datasets.spool import Rows, Spool
from ringmaster.errors import DataFileError, StoreUnwritable, counted
from ringmaster.formats.source import Progress
from ringmaster.model.players import GameName
from ringmaster.model.randomness import SPLIT_STREAM, word_array
from ringmaster.positions import PositionFile, existing, position_writer
from ringmaster.positions.position_file import PositionWriter

#: Increased by every change that gives another file from the same sources.
_VERSION = 1
Say = Callable[[str], None]


def build_positions(
    game: GameName,
    variant: str,
    sources: Sequence[PositionSettings],
    validation: float,
    seed: int,
    target: Path,
    say: Say,
) -> PositionFile:
    """Return the position file of some sources, reusing `target` if it has the same key.

    sources     files, each with its own settings; the first one's `duplicates` counts
    validation  share of the games held out of training, 0 to below 1
    seed        of the split and of the samples
    say         gets reports of progress and the notes, line by line

    The file is written completely or not at all.  Memory grows by a byte a position and some
    bytes a game; the disk holds the positions twice meanwhile.

    Raises DataFileError for an invalid file, StoreUnwritable, and StoreCorrupt where `target`
    is not a position file.
    """
    if game == "go":
        raise DataFileError("positions", None, "there are no labelled positions of Go")
    key = source_key(game, variant, sources, validation, seed)
    if (file := existing(PositionFile, target, key)) is not None:
        return file
    try:
        with Spool(target.parent) as spool:
            ingest = Ingest(game, variant, spool, seed, Progress(say))
            for settings in sources:
                ingest.read(settings)
            chosen = _Chosen(ingest, spool, sources[0], validation, seed)
            parts = (chosen.counts, chosen.sizes)
            with position_writer(target, game, key, chosen.notes, *parts) as writer:
                chosen.write(writer)
    except OSError as error:
        raise StoreUnwritable(f"cannot write {target}: {error.strerror}") from error
    for note in chosen.notes:
        say(note)
    return PositionFile(target)


def source_key(
    game: GameName,
    variant: str,
    sources: Sequence[PositionSettings],
    validation: float,
    seed: int,
) -> str:
    """Return a hash of everything that determines the position file.

    Raises DataFileError for a missing file.
    """
    chosen = []
    for settings in sources:
        files = []
        for path in settings.paths:
            try:
                status = os.stat(path)
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                raise DataFileError(path, None, f"cannot read the file: {reason}") from None
            files.append((os.path.basename(path), status.st_size, status.st_mtime_ns))
        # the folder of the files may be moved
        chosen.append(asdict(settings) | {"paths": files})
    what = [_VERSION, game, variant, chosen, validation, seed]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()


class _Chosen:
    """The positions of a set, with merged labels, games and parts.

    counts, sizes  numbers of positions, and bytes of their texts, for training and validation
    notes          everything that was left out, and the set's numbers
    """

    def __init__(
        self,
        ingest: Ingest,
        spool: Spool,
        settings: PositionSettings,
        validation: float,
        seed: int,
    ) -> None:
        """Merge, draw and split the positions.  Raises DataFileError for a useless set."""
        self._spool = spool
        self.notes = ingest.notes()
        self._keep = keep = _drawn(ingest, spool)
        self._merged = _Merged()
        if settings.duplicates == "merge":
            for equal in spool.equal(keep):
                self._merged.merge(equal, keep)
            self._merged.finish()
            if lost := self._merged.lost:
                self.notes.append(
                    f"left out: {counted(lost, 'position')}, merged with an equal one"
                )
        path = settings.paths[0]
        if not keep.any():
            raise DataFileError(path, None, "no position is left: " + "; ".join(self.notes))
        self._games, self._ends = ingest.games()
        present = np.zeros(len(self._ends), dtype=np.bool_)
        labels = _LabelCounts()
        for rows, _ in self._rows():
            labels.add(rows)
            present[self._games[rows["run"]]] = True
        self.notes += labels.notes(path)
        self._numbers = np.cumsum(present, dtype=np.uint32) - np.uint32(1)
        self._held = _held(present, validation, seed)
        counts, sizes = np.zeros((2, 2), dtype=np.int64)
        for rows, _ in self._rows():
            is_held = self._held[self._games[rows["run"]]]
            counts += np.bincount(is_held, minlength=2)
            sizes += np.bincount(is_held, rows["size"], minlength=2).astype(np.int64)
        self.counts = int(counts[0]), int(counts[1])
        self.sizes = int(sizes[0]), int(sizes[1])
        self.notes += _split_notes(self.counts, int(self._numbers[-1]) + 1, validation)
        if settings.duplicates == "keep":
            self.notes += self._crossing()

    def _rows(self) -> Iterator[tuple[Rows, npt.NDArray[np.float32]]]:
        """Yield the rows of the set's positions, and their weights."""
        for first, rows in self._spool.rows():
            weight = self._merged.relabel(first, rows)
            chosen = self._keep[first : first + len(rows)]
            yield rows[chosen], weight[chosen]

    def write(self, writer: PositionWriter) -> None:
        """Write the positions with their labels."""
        for first, rows, texts in self._spool.texts():
            weight = self._merged.relabel(first, rows)
            game = self._games[rows["run"]]
            labels = {
                "result": rows["result"],
                "teacher": rows["teacher"],
                "weight": weight,
                "progress": _progress(rows, self._ends[game]),
                "group": self._numbers[game],
                "ply": np.clip(rows["ply"], 0, 65535),
            }
            chosen, is_held = self._keep[first : first + len(rows)], self._held[game]
            for held in (False, True):
                which = np.flatnonzero(chosen & (is_held == held))
                columns = {name: column[which] for name, column in labels.items()}
                writer.add([texts[i] for i in which.tolist()], columns, held)

    def _crossing(self) -> list[str]:
        """Return a note on positions of validation that also occur in training."""
        held = np.concatenate(
            [self._held[self._games[rows["run"]]] for _, rows in self._spool.rows()]
        )
        crossing = 0
        for equal in self._spool.equal(self._keep):
            is_held = held[equal["row"]]
            crossing += int(np.isin(equal["key"][is_held], equal["key"][~is_held]).sum())
        if not crossing:
            return []
        return [f"{crossing:,} positions of validation also occur in training"]


def _drawn(ingest: Ingest, spool: Spool) -> Mask:
    """Return the mask of the drawn positions."""
    keep = np.ones(spool.count, dtype=np.bool_)
    for first, rows in spool.rows():
        for draw, begin, stop in ingest.draws:
            part = slice(max(begin - first, 0), max(stop - first, 0))
            keep[first : first + len(rows)][part] &= rows["word"][part] <= draw.limit
    return keep


def _progress(rows: Rows, ends: npt.NDArray[np.int16]) -> npt.NDArray[np.float32]:
    """Return ply by length of the game, NaN unknown.

    ends  last known plies of the games, for an unknown length
    """
    length = np.where(rows["length"] > 0, rows["length"], ends)
    known = (rows["ply"] >= 0) & (length > 0)
    progress = np.full(len(rows), np.nan, dtype=np.float32)
    progress[known] = np.minimum(rows["ply"][known] / length[known], 1.0)
    return progress


class _Merged:
    """Labels of positions that stand for equal ones; 20 bytes each.

    lost  number of the other ones
    """

    def __init__(self) -> None:
        self.lost = 0
        self._parts: list[npt.NDArray[np.void]] = []
        self._rows = np.zeros(0, dtype=_MERGED)

    def merge(self, equal: Rows, keep: Mask) -> None:
        """Merge equal positions into the first one, and leave out the others of `keep`.

        The first position gets the mean of the labels and the sum of the weights.

        equal  from `Spool.equal`
        """
        if not len(equal):
            return
        keys = equal["key"]
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        sizes = np.diff(np.append(starts, len(keys)))
        # only repeated positions need further work
        repeated = equal[np.repeat(sizes > 1, sizes)]
        sizes = sizes[sizes > 1]
        if not len(sizes):
            return
        begins = np.cumsum(sizes) - sizes
        merged = np.zeros(len(sizes), dtype=_MERGED)
        merged["row"], merged["weight"] = repeated["row"][begins], sizes
        for name in ("result", "teacher"):
            values = repeated[name].astype(np.float64)
            known = ~np.isnan(values)
            total = np.add.reduceat(np.where(known, values, 0.0), begins)
            number = np.add.reduceat(known.astype(np.int64), begins)
            merged[name] = np.where(number > 0, total / np.maximum(number, 1), np.nan)
        keep[repeated["row"]] = False
        keep[merged["row"]] = True
        self.lost += len(repeated) - len(merged)
        self._parts.append(merged)

    def finish(self) -> None:
        """Order the merged positions, after the last call of `merge`."""
        self._rows = np.concatenate([self._rows, *self._parts])
        self._rows.sort(order="row")
        self._parts.clear()

    def relabel(self, first: int, rows: Rows) -> npt.NDArray[np.float32]:
        """Give merged labels to rows from position `first` on, and return the weights."""
        weight = np.ones(len(rows), dtype=np.float32)
        begin, stop = np.searchsorted(self._rows["row"], [first, first + len(rows)])
        merged = self._rows[begin:stop]
        at = merged["row"] - first
        for name in ("result", "teacher"):
            rows[name][at] = merged[name]
        weight[at] = merged["weight"]
        return weight


#: A merged position.
_MERGED = np.dtype([("row", "<i8"), ("result", "<f4"), ("teacher", "<f4"), ("weight", "<f4")])


def _held(present: Mask, validation: float, seed: int) -> Mask:
    """Return the mask of games for validation; `present` is that of all games in the set."""
    count = int(np.count_nonzero(present))
    held = np.zeros(len(present), dtype=np.bool_)
    if validation > 0 and count > 1:
        share = min(max(round(validation * count), 1), count - 1)
        words = word_array(seed, SPLIT_STREAM, 0, count)
        held[present] = words <= np.partition(words, share - 1)[share - 1]
    return held


def _split_notes(counts: tuple[int, int], games: int, validation: float) -> list[str]:
    size = f"{counted(sum(counts), 'position')} of {counted(games, 'game')}"
    if not validation:
        return [f"{size}, all for training"]
    if games < 2:
        return [f"{size}: nothing can be held out for validation"]
    return [f"{size}: {counts[0]:,} for training, {counts[1]:,} for validation"]


class _LabelCounts:
    """Counts of the labels in a set."""

    def __init__(self) -> None:
        self.positions = 0
        self._scored = 0
        #: Numbers of positions that were won, drawn and lost, and with any result.
        self._results = np.zeros(4, dtype=np.int64)
        self._values: set[float] = set()

    def add(self, rows: Rows) -> None:
        """Add positions."""
        self.positions += len(rows)
        self._scored += int(np.count_nonzero(~np.isnan(rows["teacher"])))
        known = rows["result"][~np.isnan(rows["result"])]
        outcomes = [int(np.count_nonzero(known == value)) for value in (1, 0.5, 0)]
        self._results += np.array([*outcomes, len(known)])
        if len(self._values) < 2:
            self._values.update(np.unique(known).tolist())

    def notes(self, path: str) -> list[str]:
        """Return notes on missing labels.  Raises DataFileError for labels without information."""
        notes = []
        known = int(self._results[3])
        if not known and not self._scored:
            raise DataFileError(path, None, "no position has a result or a score")
        if len(self._values) == 1 and self.positions > 1:
            constant = f"all results are {min(self._values):g}"
            if not self._scored:
                raise DataFileError(path, None, f"{constant}: they hold no information")
            notes.append(f"{constant}: only the scores hold information")
        for what, count in (("result", known), ("score", self._scored)):
            if count == 0:
                notes.append(f"no position has a {what}")
            elif count < self.positions:
                notes.append(f"{self.positions - count:,} positions have no {what}")
        if known:
            shares = (self._results[:3] / known).tolist()
            notes.append(
                "results: {:.1%} won, {:.1%} drawn, {:.1%} lost by the first player".format(*shares)
            )
        return notes
