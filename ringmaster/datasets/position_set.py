"""Build a position file from labelled positions.

Duplicates are merged, games are split into training and validation, and notes describe
everything that was left out.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from ringmaster.datasets.ingest import Columns, Ingest, IngestedFile
from ringmaster.datasets.position_settings import PositionSettings
from ringmaster.errors import DataFileError, StoreCorrupt, StoreUnwritable, counted
from ringmaster.formats.source import SIZE, Progress
from ringmaster.model.players import GameName
from ringmaster.model.randomness import SAMPLE_STREAM, SPLIT_STREAM, word_array
from ringmaster.positions import PositionFile, PositionWriter
from ringmaster.positions.position_file import MAGIC

#: Increased by every change that gives another file from the same sources.
_VERSION = 1
#: Least positions of a game for which the last one marks the game's end.
_WHOLE = 4
#: Least mean number of positions with the same name, if the names are those of games.
_NAMED = 1.5
#: A mean run of one game's positions below this may be chance: the file may be shuffled.
_SHUFFLED = 2.5
_LISTED_FILES = 3

Say = Callable[[str], None]


def build_positions(
    game: GameName,
    variant: str,
    settings: PositionSettings,
    validation: float,
    seed: int,
    target: Path,
    say: Say,
) -> PositionFile:
    """Return the position file of `settings`, reusing `target` if it has the same key.

    validation  share of the games held out of training, 0 to below 1
    seed        of the split and of the sample
    say         gets reports of progress and the notes, line by line

    The file is written completely or not at all.  Memory grows by about 100 bytes a position.

    Raises DataFileError for an invalid file, StoreUnwritable, and StoreCorrupt where `target`
    is not a position file.
    """
    if game == "go":
        raise DataFileError("positions", None, "there are no labelled positions of Go")
    key = source_key(game, variant, settings, validation, seed)
    try:
        existing = PositionFile(target)
        if existing.key == key:
            return existing
    except FileNotFoundError:
        pass
    except StoreCorrupt:
        if not _is_ours(target):
            raise
    except OSError as error:
        raise StoreUnwritable(f"cannot read {target}: {error.strerror}") from error
    try:
        with tempfile.TemporaryFile(dir=target.parent) as texts:
            ingest = Ingest(game, variant, settings, texts, Progress(say))
            for path in settings.paths:
                ingest.read(path)
            notes = _write(ingest, validation, seed, target, key, texts)
    except OSError as error:
        raise StoreUnwritable(f"cannot write {target}: {error.strerror}") from error
    for note in notes:
        say(note)
    return PositionFile(target)


def source_key(
    game: GameName, variant: str, settings: PositionSettings, validation: float, seed: int
) -> str:
    """Return a hash of everything that determines the position file.

    Raises DataFileError for a missing file.
    """
    if not settings.paths:
        raise DataFileError("positions", None, "there is no file of positions")
    files = []
    for path in settings.paths:
        try:
            status = os.stat(path)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise DataFileError(path, None, f"cannot read the positions: {reason}") from None
        files.append((os.path.basename(path), status.st_size, status.st_mtime_ns))
    # the folder of the files may be moved
    chosen = asdict(settings) | {"paths": files}
    if not settings.skip_bad:
        # older position files without this setting remain valid
        del chosen["skip_bad"]
    what = [_VERSION, game, variant, chosen, validation, seed]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _write(
    ingest: Ingest, validation: float, seed: int, target: Path, key: str, texts: IO[bytes]
) -> list[str]:
    """Write the position file and return its notes."""
    columns, files = ingest.columns, ingest.files
    count = columns.count
    read = sum(file.read for file in files)
    notes = [f"{counted(read, 'position')} read from {_names(files)}"]
    # the first plural is that of the counted things: "positions of unfinished games"
    skipped = {
        re.sub(r"s\b", "", w, count=1) if n == 1 else w: n for w, n in ingest.skipped.items()
    }
    notes += [f"left out: {n:,} {what}" for what, n in skipped.items()]
    notes += [f"left out: {counted(n, 'position')}, {what}" for what, n in ingest.dropped.items()]
    notes += ingest.warnings
    ply, length = columns.pop("ply"), columns.pop("length")
    sizes = columns.pop("size")
    group, split_notes = _games(columns, files)
    keep = np.ones(count, dtype=np.bool_)
    for file in files:
        if file.last_ply <= 1:  # all move numbers are defaults
            ply[file.first : file.stop] = -1
    if ingest.settings.first_ply:
        early = (ply >= 0) & (ply < ingest.settings.first_ply)
        keep &= ~early
        notes += _lost(early, f"before ply {ingest.settings.first_ply}")
        if (ply < 0).any():
            notes.append("first_ply has no effect on positions whose ply is not known")
    progress = _progress_of(ply, length, group)
    result, teacher = columns.pop("result"), columns.pop("teacher")
    weight = np.ones(count, dtype=np.float32)
    keys = columns.pop("key")
    if ingest.settings.duplicates == "merge":
        merged = _merge(keys, keep, result, teacher, weight)
        notes += _lost(merged, "merged with an equal one")
        keep &= ~merged
    notes += _sample(keep, ingest.settings.most, seed)
    if not keep.any():
        raise DataFileError(
            ingest.settings.paths[0], None, "no position is left: " + "; ".join(notes)
        )
    notes += _check_labels(result[keep], teacher[keep], ingest.settings.paths[0])
    notes += split_notes
    group, held, games = _split(group, keep, validation, seed)
    notes += _split_notes(held[keep], games, validation)
    if ingest.settings.duplicates == "keep" and validation:
        notes += _crossing(keys, keep, held)
    labels = {
        "result": result,
        "teacher": teacher,
        "weight": weight,
        "progress": progress,
        "group": group,
        "ply": np.clip(ply, 0, 65535),
    }
    texts.seek(0)
    with PositionWriter(target, ingest.game, key) as writer:
        for start in range(0, count, SIZE):
            part = slice(start, min(start + SIZE, count))
            chosen = _texts(texts, sizes[part])
            for validating in (False, True):
                which = np.flatnonzero(keep[part] & (held[part] == validating))
                if len(which):
                    writer.add(
                        [chosen[i] for i in which.tolist()],
                        {name: column[part][which] for name, column in labels.items()},
                        validating,
                    )
        writer.finish(notes)
    return notes


def _names(files: list[IngestedFile]) -> str:
    names = [f"{os.path.basename(file.path)} ({file.format})" for file in files]
    more = len(names) - _LISTED_FILES
    return ", ".join(names[:_LISTED_FILES]) + (f" and {more} more files" if more > 0 else "")


def _lost(which: npt.NDArray[np.bool_], what: str) -> list[str]:
    lost = int(np.count_nonzero(which))
    return [f"left out: {counted(lost, 'position')}, {what}"] if lost else []


def _texts(file: IO[bytes], sizes: npt.NDArray[np.uint16]) -> list[bytes]:
    ends = np.cumsum(sizes, dtype=np.int64).tolist()
    data = file.read(ends[-1])
    return [data[a:b] for a, b in zip([0, *ends], ends, strict=False)]


def _games(columns: Columns, files: list[IngestedFile]) -> tuple[npt.NDArray[np.uint32], list[str]]:
    """Return the number of each position's game, and notes.

    Repeated names identify games; otherwise plies do.
    """
    runs, names = columns.pop("run"), columns.pop("game")
    group = runs.astype(np.int64)
    notes = []
    for file in files:
        part = slice(file.first, file.stop)
        named = names[part]
        at = named != 0
        if at.any():
            distinct, which = np.unique(named[at], return_inverse=True)
            # unique names are of positions, not of games
            if _NAMED * len(distinct) <= np.count_nonzero(at):
                mine = group[part]
                mine[at] = (1 << 33) + file.first + which
                continue
        if file.read == file.runs and file.read > 1:
            notes.append(
                f"{os.path.basename(file.path)} does not tell which positions are of one "
                "game: each counts as a game of its own"
            )
        elif file.read < _SHUFFLED * file.runs and file.read > 1:
            notes.append(
                f"{os.path.basename(file.path)} has {file.read / file.runs:.1f} positions in "
                "a row that may be of one game: if it is shuffled, the split is not by game"
            )
    _, dense = np.unique(group, return_inverse=True)
    return dense.astype(np.uint32), notes


def _progress_of(
    ply: npt.NDArray[np.int32], length: npt.NDArray[np.int32], group: npt.NDArray[np.uint32]
) -> npt.NDArray[np.float32]:
    """Return ply by length of the game, NaN unknown.

    The last known ply replaces an unknown length of a game with several positions.
    """
    if not len(ply):
        return np.zeros(0, dtype=np.float32)
    count = np.bincount(group)
    last = np.zeros(len(count), dtype=np.int32)
    np.maximum.at(last, group, ply)
    whole = np.where(count >= _WHOLE, last, 0)[group]
    ends = np.where(length > 0, length, whole)
    known = (ply >= 0) & (ends > 0)
    progress = np.full(len(ply), np.nan, dtype=np.float32)
    progress[known] = np.minimum(ply[known] / ends[known], 1.0)
    return progress


def _merge(
    keys: npt.NDArray[np.uint64],
    keep: npt.NDArray[np.bool_],
    result: npt.NDArray[np.float32],
    teacher: npt.NDArray[np.float32],
    weight: npt.NDArray[np.float32],
) -> npt.NDArray[np.bool_]:
    """Merge equal positions into the first one, and return the mask of the others.

    The first position gets the mean of the labels and the sum of the weights.
    """
    remaining = np.flatnonzero(keep)
    order = remaining[np.argsort(keys[remaining], kind="stable")]
    if not len(order):
        return np.zeros(len(keep), dtype=np.bool_)
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    sizes = np.diff(np.append(starts, len(order)))
    several = starts[sizes > 1]
    if not len(several):
        return np.zeros(len(keep), dtype=np.bool_)
    # only repeated positions need further work
    among = np.repeat(sizes > 1, sizes)
    rows = order[among]
    begins = np.concatenate([[0], np.cumsum(sizes[sizes > 1])[:-1]])
    first = rows[begins]
    for column in (result, teacher):
        values = column[rows].astype(np.float64)
        known = ~np.isnan(values)
        total = np.add.reduceat(np.where(known, values, 0.0), begins)
        number = np.add.reduceat(known.astype(np.int64), begins)
        column[first] = np.where(number > 0, total / np.maximum(number, 1), np.nan)
    weight[first] = np.add.reduceat(weight[rows], begins)
    merged = np.zeros(len(keep), dtype=np.bool_)
    merged[rows] = True
    merged[first] = False
    return merged


def _sample(keep: npt.NDArray[np.bool_], most: int | None, seed: int) -> list[str]:
    """Reduce `keep` to a random sample of `most` positions, and return notes."""
    remaining = np.flatnonzero(keep)
    if most is None or len(remaining) <= most:
        return []
    drawn = np.argsort(word_array(seed, SAMPLE_STREAM, 0, len(remaining)), kind="stable")
    keep[remaining[drawn[most:]]] = False
    return [f"{most:,} of {len(remaining):,} positions drawn"]


def _split(
    group: npt.NDArray[np.uint32], keep: npt.NDArray[np.bool_], validation: float, seed: int
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_], int]:
    """Return game numbers from 0, the mask of validation, and the number of games."""
    present = np.zeros(int(group.max(initial=0)) + 1, dtype=np.bool_)
    present[group[keep]] = True
    number = np.cumsum(present) - 1
    games = int(np.count_nonzero(present))
    held = np.zeros(games, dtype=np.bool_)
    if validation > 0 and games > 1:
        share = min(max(round(validation * games), 1), games - 1)
        held[np.argsort(word_array(seed, SPLIT_STREAM, 0, games), kind="stable")[:share]] = True
    group = np.where(keep, number[group], 0).astype(np.uint32)
    return group, keep & held[group] if games else keep, games


def _split_notes(held: npt.NDArray[np.bool_], games: int, validation: float) -> list[str]:
    out = int(np.count_nonzero(held))
    size = f"{counted(len(held), 'position')} of {counted(games, 'game')}"
    if not validation:
        return [f"{size}, all for training"]
    if games < 2:
        return [f"{size}: nothing can be held out for validation"]
    return [f"{size}: {len(held) - out:,} for training, {out:,} for validation"]


def _crossing(
    keys: npt.NDArray[np.uint64], keep: npt.NDArray[np.bool_], held: npt.NDArray[np.bool_]
) -> list[str]:
    training = np.unique(keys[keep & ~held])
    crossing = int(np.count_nonzero(np.isin(keys[keep & held], training)))
    if not crossing:
        return []
    return [f"{crossing:,} positions of validation also occur in training"]


def _check_labels(
    result: npt.NDArray[np.float32], teacher: npt.NDArray[np.float32], path: str
) -> list[str]:
    """Return notes on missing labels.  Raises DataFileError for labels without information."""
    notes = []
    known = result[~np.isnan(result)]
    scored = int(np.count_nonzero(~np.isnan(teacher)))
    if not len(known) and not scored:
        raise DataFileError(path, None, "no position has a result or a score")
    if len(known) and (known == known[0]).all() and len(result) > 1:
        constant = f"all results are {known[0]:g}"
        if not scored:
            raise DataFileError(path, None, f"{constant}: they hold no information")
        notes.append(f"{constant}: only the scores hold information")
    for what, count in (("result", len(known)), ("score", scored)):
        if count == 0:
            notes.append(f"no position has a {what}")
        elif count < len(result):
            notes.append(f"{len(result) - count:,} positions have no {what}")
    if len(known):
        shares = [float(np.mean(known == value)) for value in (1, 0.5, 0)]
        notes.append(
            "results: {:.1%} won, {:.1%} drawn, {:.1%} lost by the first player".format(*shares)
        )
    return notes
