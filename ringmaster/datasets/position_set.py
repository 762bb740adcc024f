"""Build a position file from labelled positions.

Duplicates are merged, games are split into training and validation, and notes describe
everything that was left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from os.path import basename
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ringmaster.datasets.boards import Mask
from ringmaster.datasets.ingest import Ingest
from ringmaster.datasets.labels import LabelCounts
from ringmaster.datasets.position_settings import PositionSettings
from ringmaster.datasets.spool import Rows, Spool, new_spool
from ringmaster.errors import DataFileError, counted
from ringmaster.formats.source import Progress
from ringmaster.model.output_files import writing
from ringmaster.model.players import GameName
from ringmaster.model.randomness import SPLIT_STREAM, word_array
from ringmaster.positions import PositionFile, write_positions
from ringmaster.positions.position_file import Part

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
    bytes a game; the disk holds the positions twice meanwhile.  Where `settings.moves` is set,
    each text is followed by a space and the move.

    Raises DataFileError for an invalid file, StoreUnwritable, and StoreCorrupt where `target`
    is not a position file.
    """
    if game == "go":
        raise DataFileError("positions", None, "there are no labelled positions of Go")
    # the folder of the files may be moved
    files = [
        [(basename(path), *settings.source(path, game, variant).state()) for path in settings.paths]
        for settings in sources
    ]
    chosen = [replace(settings, paths=()) for settings in sources]
    inputs = [_VERSION, game, variant, list(map(asdict, chosen)), files, validation, seed]
    key = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()
    if (file := PositionFile.existing(target, key)) is not None:
        return file
    with writing(target), new_spool(target.parent) as spool:
        ingest = Ingest(game, variant, spool, seed, Progress(say))
        for settings in sources:
            ingest.read(settings)
        notes = ingest.notes()
        positions = _Split(ingest, spool, sources[0], notes, validation, seed)
        facts = {"game": game, "key": key, "notes": notes}
        write_positions(target, facts, positions.counts, positions.sizes, positions.parts())
    for note in notes:
        say(note)
    return PositionFile(target)


class _Split:
    """The positions of a set, split by games into training and validation.

    counts, sizes  numbers of positions, and bytes of their texts, for training and validation
    """

    def __init__(
        self,
        ingest: Ingest,
        spool: Spool,
        settings: PositionSettings,
        notes: list[str],
        validation: float,
        seed: int,
    ) -> None:
        """Merge and split the drawn positions, and add to `notes`.

        Raises DataFileError for a useless set.
        """
        self._spool = spool
        ingest.draw()
        if settings.duplicates == "merge" and (lost := _merge(spool)):
            notes.append(f"left out: {counted(lost, 'position')}, merged with an equal one")
        path = settings.paths[0]
        if not spool.rows["weight"].any():
            raise DataFileError(path, None, "no position is left: " + "; ".join(notes))
        self._ends = ingest.number_games()
        positions, sizes = np.zeros((2, len(self._ends)), dtype=np.int64)
        labels = LabelCounts()
        for rows in spool.blocks():
            rows = rows[rows["weight"] > 0]
            labels.add(rows["result"], rows["teacher"])
            np.add.at(positions, rows["run"], 1)
            np.add.at(sizes, rows["run"], rows["size"])
        present = positions > 0
        self._numbers = np.cumsum(present, dtype=np.uint32) - np.uint32(1)
        self._held = held = _held(present, validation, seed)
        self.counts = int(positions[~held].sum()), int(positions[held].sum())
        self.sizes = int(sizes[~held].sum()), int(sizes[held].sum())
        if settings.moves:
            notes.append(f"{counted(sum(self.counts), 'position')} with moves")
            return
        notes += _label_notes(labels, path)
        notes += _split_notes(self.counts, int(self._numbers[-1]) + 1, validation)
        if settings.duplicates == "keep":
            notes += self._crossing()

    def parts(self) -> Iterator[Part]:
        """Yield the positions with their labels."""
        for rows, texts in self._spool.texts():
            game = rows["run"]
            labels = {
                "result": rows["result"],
                "teacher": rows["teacher"],
                "weight": rows["weight"],
                "progress": _progress(rows, self._ends[game]),
                "group": self._numbers[game],
                "ply": np.clip(rows["ply"], 0, 65535),
            }
            for held in (False, True):
                which = np.flatnonzero((rows["weight"] > 0) & (self._held[game] == held))
                columns = {name: column[which] for name, column in labels.items()}
                yield [texts[i] for i in which.tolist()], columns, held

    def _crossing(self) -> list[str]:
        """Return a note on positions of validation that also occur in training."""
        crossing = 0
        for numbers, sizes in self._spool.equal():
            if len(sizes):
                held = self._held[self._spool.rows["run"][numbers]]
                of_group = np.add.reduceat(held, np.cumsum(sizes) - sizes, dtype=np.int64)
                crossing += int(of_group[of_group < sizes].sum())
        if not crossing:
            return []
        return [f"{crossing:,} positions of validation also occur in training"]


def _merge(spool: Spool) -> int:
    """Merge equal positions into the first one; return the number of the others.

    The first position gets the mean of the labels and the sum of the weights.
    """
    rows, lost = spool.rows, 0
    for numbers, sizes in spool.equal():
        if not len(sizes):
            continue
        begins = np.cumsum(sizes) - sizes
        for name in ("result", "teacher"):
            values = rows[name][numbers].astype(np.float64)
            known = ~np.isnan(values)
            total = np.add.reduceat(np.where(known, values, 0.0), begins)
            number = np.add.reduceat(known, begins, dtype=np.int64)
            mean = np.where(number > 0, total / np.maximum(number, 1), np.nan)
            rows[name][numbers[begins]] = mean
        rows["weight"][numbers] = 0
        rows["weight"][numbers[begins]] = sizes
        lost += len(numbers) - len(sizes)
    return lost


def _progress(rows: Rows, ends: npt.NDArray[np.int16]) -> npt.NDArray[np.float32]:
    """Return ply by length of the game, NaN unknown.

    ends  last known plies of the games, for an unknown length
    """
    length = np.where(rows["length"] > 0, rows["length"], ends)
    known = (rows["ply"] >= 0) & (length > 0)
    progress = np.full(len(rows), np.nan, dtype=np.float32)
    progress[known] = np.minimum(rows["ply"][known] / length[known], 1.0)
    return progress


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


def _label_notes(labels: LabelCounts, path: str) -> list[str]:
    """Return notes on missing labels.  Raises DataFileError for labels without information."""
    notes = []
    if not labels.known and not labels.scored:
        raise DataFileError(path, None, "no position has a result or a score")
    if labels.constant is not None and labels.positions > 1:
        constant = f"all results are {labels.constant:g}"
        if not labels.scored:
            raise DataFileError(path, None, f"{constant}: they hold no information")
        notes.append(f"{constant}: only the scores hold information")
    for what, count in (("result", labels.known), ("score", labels.scored)):
        if count == 0:
            notes.append(f"no position has a {what}")
        elif count < labels.positions:
            notes.append(f"{labels.positions - count:,} positions have no {what}")
    if labels.known:
        shares = [int(labels.results[kind]) / labels.known for kind in (2, 1, 0)]
        notes.append(
            "results: {:.1%} won, {:.1%} drawn, {:.1%} lost by the first player".format(*shares)
        )
    return notes
