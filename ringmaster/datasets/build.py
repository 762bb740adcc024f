"""From labelled positions to a position file: duplicates merged, games split into
training and validation, everything said that was left out.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from ringmaster.datasets.batch import SIZE
from ringmaster.datasets.intake import Columns, Intake, Taken
from ringmaster.datasets.settings import PositionSettings
from ringmaster.errors import DatasetError, StoreCorrupt, StoreUnwritable
from ringmaster.model.players import GameName
from ringmaster.model.randomness import SAMPLE_STREAM, SPLIT_STREAM, word_array
from ringmaster.positions import PositionFile, PositionWriter
from ringmaster.positions.position_file import MAGIC

#: Changed with whatever makes another file of the same sources.
_VERSION = 1
#: Seconds between two words on progress.
_SAY = 5.0
#: Positions of a game from which on the last of them stands for its end.
_WHOLE = 4
#: Positions that have the same name, on average, where names are those of games.
_NAMED = 1.5
#: Fewer positions in a row than this on average may be chance.
_SHUFFLED = 2.5
_MOST_NAMED = 3

Say = Callable[[str], None]


def build(
    game: GameName,
    variant: str,
    settings: PositionSettings,
    validation: float,
    seed: int,
    target: Path,
    say: Say,
) -> PositionFile:
    """Return the positions that `settings` describes, from `target` when that was made
    of the same settings and files, else read anew and written there, whole or not at all.

    validation  share of the games that are held out of training, 0 to below 1
    seed        of the split, and of the sample when there is one
    say         is told, a line at a time, what is read and what came of it

    Memory grows by some 100 bytes a position.  Raises DatasetError for a file that cannot
    be read or makes no sense, StoreUnwritable, StoreCorrupt when `target` is another's.
    """
    if game == "go":
        raise DatasetError("positions", None, "there are no labelled positions of Go")
    key = _key(game, variant, settings, validation, seed)
    try:
        kept = PositionFile(target)
        if kept.key == key:
            return kept
    except FileNotFoundError:
        pass
    except StoreCorrupt:
        if not _is_ours(target):
            raise
    except OSError as error:
        raise StoreUnwritable(f"cannot read {target}: {error.strerror}") from error
    try:
        with tempfile.TemporaryFile(dir=target.parent) as texts:
            intake = Intake(game, variant, settings, texts, _progress(say))
            for path in settings.paths:
                intake.file(path)
            notes = _write(intake, validation, seed, target, key, texts)
    except OSError as error:
        raise StoreUnwritable(f"cannot write {target}: {error.strerror}") from error
    for note in notes:
        say(note)
    return PositionFile(target)


def _key(
    game: GameName, variant: str, settings: PositionSettings, validation: float, seed: int
) -> str:
    """Return a hash of all that the positions depend on.  Raises DatasetError for a file
    that is not there."""
    if not settings.paths:
        raise DatasetError("positions", None, "there is no file of positions")
    files = []
    for path in settings.paths:
        try:
            status = os.stat(path)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise DatasetError(path, None, f"cannot read the positions: {reason}") from None
        files.append((os.path.basename(path), status.st_size, status.st_mtime_ns))
    # not their folder, which may have moved with the event
    chosen = asdict(settings) | {"paths": files}
    if not settings.skip_bad:
        # files made before there was this setting are kept
        del chosen["skip_bad"]
    what = [_VERSION, game, variant, chosen, validation, seed]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _progress(say: Say) -> Callable[[str, int], None]:
    start = last = time.monotonic()

    def progress(path: str, count: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SAY:
            last = now
            say(f"{path}: {count:,} positions read, {now - start:.0f} s so far")

    return progress


def _write(
    intake: Intake, validation: float, seed: int, target: Path, key: str, texts: IO[bytes]
) -> list[str]:
    """Write the position file; returns what there is to say of it."""
    columns, files = intake.columns, intake.files
    count = columns.count
    read = sum(file.read for file in files)
    notes = [f"{read:,} positions read from {_named(files)}"]
    notes += [f"left out: {n:,} {what}" for what, n in intake.skipped.items()]
    notes += [f"left out: {n:,} positions, {what}" for what, n in intake.dropped.items()]
    notes += intake.warnings
    ply, length = columns.take("ply"), columns.take("length")
    sizes = columns.take("size")
    group, split_notes = _games(columns, files)
    keep = np.ones(count, dtype=np.bool_)
    for file in files:
        if file.last_ply <= 1:  # move numbers that say nothing
            ply[file.first : file.stop] = -1
    if intake.settings.first_ply:
        early = (ply >= 0) & (ply < intake.settings.first_ply)
        keep &= ~early
        notes += _lost(early, f"positions, before ply {intake.settings.first_ply}")
        if (ply < 0).any():
            notes.append("first_ply has no effect on positions whose ply is not known")
    progress = _progress_of(ply, length, group)
    result, teacher = columns.take("result"), columns.take("teacher")
    weight = np.ones(count, dtype=np.float32)
    keys = columns.take("key")
    if intake.settings.duplicates == "merge":
        merged = _merge(keys, keep, result, teacher, weight)
        notes += _lost(merged, "positions, merged with an equal one")
        keep &= ~merged
    notes += _sample(keep, intake.settings.most, seed)
    if not keep.any():
        raise DatasetError(
            intake.settings.paths[0], None, "no position is left: " + "; ".join(notes)
        )
    notes += _check_labels(result[keep], teacher[keep], intake.settings.paths[0])
    notes += split_notes
    group, held, games = _split(group, keep, validation, seed)
    notes += _split_notes(held[keep], games, validation)
    if intake.settings.duplicates == "keep" and validation:
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
    with PositionWriter(target, intake.game, key) as writer:
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


def _named(files: list[Taken]) -> str:
    names = [f"{os.path.basename(file.path)} ({file.format})" for file in files]
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more files" if more > 0 else "")


def _lost(which: npt.NDArray[np.bool_], what: str) -> list[str]:
    lost = int(np.count_nonzero(which))
    return [f"left out: {lost:,} {what}"] if lost else []


def _texts(file: IO[bytes], sizes: npt.NDArray[np.uint16]) -> list[bytes]:
    ends = np.cumsum(sizes, dtype=np.int64).tolist()
    data = file.read(ends[-1])
    return [data[a:b] for a, b in zip([0, *ends], ends, strict=False)]


def _games(columns: Columns, files: list[Taken]) -> tuple[npt.NDArray[np.uint32], list[str]]:
    """Return the number of each position's game, and what there is to say of it: by name
    where names come again, else by the plies."""
    runs, names = columns.take("run"), columns.take("game")
    group = runs.astype(np.int64)
    notes = []
    for file in files:
        part = slice(file.first, file.stop)
        named = names[part]
        at = named != 0
        if at.any():
            distinct, which = np.unique(named[at], return_inverse=True)
            # names that hardly come again are of positions; the order tells games then
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
    """Return ply by length of game, NaN where unknown; the last ply of a game of which
    there are some positions stands for its length."""
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
    """Give the first of equal positions the average of their labels and the sum of their
    weights; returns which others are then not wanted."""
    kept = np.flatnonzero(keep)
    order = kept[np.argsort(keys[kept], kind="stable")]
    if not len(order):
        return np.zeros(len(keep), dtype=np.bool_)
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    sizes = np.diff(np.append(starts, len(order)))
    several = starts[sizes > 1]
    if not len(several):
        return np.zeros(len(keep), dtype=np.bool_)
    # only what is there several times has to be looked at further
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
    """Leave `most` positions in `keep`, drawn by the seed."""
    kept = np.flatnonzero(keep)
    if most is None or len(kept) <= most:
        return []
    drawn = np.argsort(word_array(seed, SAMPLE_STREAM, 0, len(kept)), kind="stable")
    keep[kept[drawn[most:]]] = False
    return [f"{most:,} of {len(kept):,} positions drawn"]


def _split(
    group: npt.NDArray[np.uint32], keep: npt.NDArray[np.bool_], validation: float, seed: int
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_], int]:
    """Return the games of the kept positions numbered from 0, whether each position is of
    validation, and how many games there are."""
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
    said = f"{len(held):,} positions of {games:,} games"
    if not validation:
        return [f"{said}, all for training"]
    if games < 2:
        return [f"{said}: nothing can be held out for validation"]
    return [f"{said}: {len(held) - out:,} for training, {out:,} for validation"]


def _crossing(
    keys: npt.NDArray[np.uint64], keep: npt.NDArray[np.bool_], held: npt.NDArray[np.bool_]
) -> list[str]:
    known = np.unique(keys[keep & ~held])
    crossing = int(np.count_nonzero(np.isin(keys[keep & held], known)))
    if not crossing:
        return []
    return [f"{crossing:,} positions of validation are among those of training, too"]


def _check_labels(
    result: npt.NDArray[np.float32], teacher: npt.NDArray[np.float32], path: str
) -> list[str]:
    """Return what is missing in the labels.  Raises DatasetError when they teach nothing."""
    notes = []
    known = result[~np.isnan(result)]
    scored = int(np.count_nonzero(~np.isnan(teacher)))
    if not len(known) and not scored:
        raise DatasetError(path, None, "no position has a result or a score")
    if len(known) and (known == known[0]).all() and len(result) > 1:
        said = f"all results are {known[0]:g}"
        if not scored:
            raise DatasetError(path, None, f"{said}: there is nothing to be learnt from them")
        notes.append(f"{said}: only the scores can teach something")
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
