"""The feature file of a position file: counts out of a CSV or NPZ file, of a function of the
position, or of what an engine has answered.

A position file is filtered, merged and split, so counts of a file are matched by the
position: each row has its text.  Rows of positions that are not in the set are passed over; a
position without a row is an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ringmaster.datasets.counts import CountsError, Rows, Unnamed, Wanted, called
from ringmaster.datasets.feature_tables import Table, read_table
from ringmaster.datasets.position_keys import position_keys
from ringmaster.errors import DatasetError, StoreCorrupt, StoreUnwritable
from ringmaster.positions import FeatureFile, FeatureWriter, PositionFile

#: Changed with whatever makes another file of the same sources.
_VERSION = 1
_CHUNK = 1 << 14
#: Seconds between two words on progress.
_SAY = 5.0
#: Positions that an error names.
_EXAMPLES = 3

Say = Callable[[str], None]
#: A file, or a function of a position's text.
Source = str | os.PathLike[str] | Callable[[str], Any]


def build(
    source: Source,
    positions: PositionFile,
    names: Sequence[str],
    target: Path,
    say: Say,
    *,
    phase: bool = False,
    unnamed: Unnamed = "refuse",
    version: str = "",
) -> FeatureFile:
    """Return the counts of all positions, from `target` when that was made of the same
    things, else found anew and written there, whole or not at all.

    names    of the features that are wanted; `Linear.features` with those of frozen
             parameters
    phase    whether each position's phase is wanted, for a tapered evaluation
    unnamed  what is done with features that are not wanted
    version  what a function says (its source), so that another one is noticed

    Raises DatasetError, StoreUnwritable, StoreCorrupt when `target` is another's.
    """
    wanted = Wanted(names, phase=phase, unnamed=unnamed)
    key = _key(source, positions, wanted, version)
    kept = _kept(target, key)
    if kept is not None:
        return kept
    with FeatureWriter(target, names, len(positions), key, phase=phase) as writer:
        if callable(source):
            _of_function(source, positions, wanted, writer, say)
        else:
            _of_table(read_table(os.fspath(source), wanted), positions, writer, say)
        missing = writer.missing()
        if len(missing):
            shown = "; ".join(positions.text(int(i)).decode() for i in missing[:_EXAMPLES])
            raise DatasetError(
                str(source),
                None,
                f"{len(missing):,} of {len(positions):,} positions have no row: {shown}",
            )
        writer.finish()
    return FeatureFile(target)


def _key(source: Source | None, positions: PositionFile, wanted: Wanted, version: str) -> str:
    """Return a hash of all that the counts depend on; `source` None: answers.

    Raises DatasetError for a file that is not there.
    """
    found: list[Any] = [_VERSION, positions.key, len(positions)]
    found += [wanted.names, wanted.phase, wanted.unnamed, version]
    if source is not None and not callable(source):
        try:
            status = os.stat(source)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise DatasetError(str(source), None, f"cannot read the features: {reason}") from None
        found += [os.fspath(source), status.st_size, status.st_mtime_ns]
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


def _kept(target: Path, key: str) -> FeatureFile | None:
    """Return the file that is there already, if it is of that key."""
    try:
        kept = FeatureFile(target)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreUnwritable(f"cannot read {target}: {error.strerror}") from error
    return kept if kept.key == key else None


def _of_function(
    function: Callable[[str], Any],
    positions: PositionFile,
    wanted: Wanted,
    writer: FeatureWriter,
    say: Say,
) -> None:
    progress = _Progress(say, len(positions))
    for first in range(0, len(positions), _CHUNK):
        texts = positions.texts(first, min(first + _CHUNK, len(positions)))
        rows = _encoded(wanted, [(text,) for text in texts], function)
        writer.add(np.arange(first, first + len(texts)), *rows)
        progress.at(first + len(texts))


def _encoded(
    wanted: Wanted, arguments: Sequence[tuple[bytes, ...]], function: Callable[..., Any]
) -> Rows:
    """Return what a function gives for positions, the last of its arguments, as rows."""
    results = []
    for words in arguments:
        try:
            results.append(called(function, *(word.decode(errors="replace") for word in words)))
        except CountsError as error:
            raise _at(words, error) from error
    try:
        return wanted.rows(results)
    except CountsError:
        for words, result in zip(arguments, results, strict=True):
            try:
                wanted.rows([result])
            except CountsError as error:
                raise _at(words, error) from None
        raise


def _at(words: tuple[bytes, ...], error: CountsError) -> DatasetError:
    return DatasetError("features", None, f"{error} (position {words[-1].decode()})")


def _of_table(table: Table, positions: PositionFile, writer: FeatureWriter, say: Say) -> None:
    count = len(positions)
    keys = np.concatenate(
        [
            np.zeros(0, dtype=np.uint64),
            *(
                position_keys(positions.texts(first, min(first + _CHUNK, count)), positions.game)
                for first in range(0, count, _CHUNK)
            ),
        ]
    )
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    progress, read, passed = _Progress(say, None), 0, 0
    for texts, rows in table:
        wanted = position_keys(texts, positions.game)
        left, right = (np.searchsorted(keys, wanted, side=side) for side in ("left", "right"))
        times = right - left
        read += len(texts)
        passed += int(np.count_nonzero(times == 0))
        writer.add(*_repeated(rows, order, left, times))
        progress.at(read)
    if passed:
        say(f"{passed:,} of {read:,} rows of features are of positions that are not in the set")


def _repeated(
    rows: Rows, order: npt.NDArray[np.intp], left: Any, times: Any
) -> tuple[npt.NDArray[np.int64], Any, Any, Any, Any]:
    """Return rows as often as there are positions of theirs, with the places of these."""
    which = np.repeat(np.arange(len(times)), times)
    nth = np.arange(len(which)) - np.repeat(np.cumsum(times) - times, times)
    into = order[left[which] + nth].astype(np.int64)
    lengths = np.asarray(rows.lengths, dtype=np.int64)
    begin = np.cumsum(lengths) - lengths
    taken = lengths[which]
    inside = np.arange(int(taken.sum())) - np.repeat(np.cumsum(taken) - taken, taken)
    at = np.repeat(begin[which], taken) + inside
    phase = None if rows.phase is None else rows.phase[which]
    return into, taken, rows.columns[at], rows.values[at], phase


class Pieces:
    """Counts that come out of an engine's answers, shard by shard, in any order and over
    several runs: each shard is a file beside `target` until all are there.

    function  of (answer, position), as the control file has it

    The other arguments are those of `build`.
    """

    def __init__(
        self,
        function: Callable[[str, str], Any],
        positions: PositionFile,
        names: Sequence[str],
        target: Path,
        *,
        phase: bool = False,
        unnamed: Unnamed = "refuse",
        version: str = "",
    ) -> None:
        self._function, self._positions, self._target = function, positions, target
        self._wanted = Wanted(names, phase=phase, unnamed=unnamed)
        self._key = _key(None, positions, self._wanted, version)
        self._folder = target.with_name(f"{target.name}.pieces")

    def kept(self) -> FeatureFile | None:
        """Return the feature file if it is there already."""
        return _kept(self._target, self._key)

    def missing(self, shards: int) -> list[int]:
        """Return which of the shards 0, 1, … have not come."""
        return [shard for shard in range(shards) if not self._path(shard).exists()]

    def put(self, shard: int, rows: range, answers: Sequence[str]) -> None:
        """Keep what an engine answered to the positions `rows` of the position file.

        Raises DatasetError when the function fails or gives what makes no sense,
        StoreUnwritable.
        """
        texts = self._positions.texts(rows.start, rows.stop, rows.step)
        pairs = [(a.encode(), t) for a, t in zip(answers, texts, strict=True)]
        found = _encoded(self._wanted, pairs, self._function)
        path = self._path(shard)
        arrays = {"rows": np.array(rows, dtype=np.int64), **found._asdict()}
        whole = path.with_suffix(".new~")
        try:
            self._folder.mkdir(exist_ok=True)
            for old in self._folder.iterdir():
                if not old.name.startswith(self._key[:16]):
                    old.unlink()
            with whole.open("wb") as file:
                np.savez(file, **{k: v for k, v in arrays.items() if v is not None})
            whole.replace(path)
        except OSError as error:
            raise StoreUnwritable(f"cannot write {path}: {error.strerror}") from error

    def finish(self, shards: int) -> FeatureFile:
        """Make the feature file of all shards; what they were kept in is deleted.

        Raises StoreCorrupt for a piece that is damaged, StoreUnwritable.
        """
        wanted, count = self._wanted, len(self._positions)
        with FeatureWriter(
            self._target, wanted.names, count, self._key, phase=wanted.phase
        ) as writer:
            for shard in range(shards):
                writer.add(*self._read(self._path(shard)))
            left = len(writer.missing())
            if left:
                raise StoreCorrupt(f"{left:,} of {count:,} positions are in no shard of features")
            writer.finish()
        shutil.rmtree(self._folder, ignore_errors=True)
        return FeatureFile(self._target)

    def _read(self, path: Path) -> tuple[Any, Any, Any, Any, Any]:
        if not path.exists():
            raise StoreCorrupt(f"{path} is missing; put it back, or begin the tune anew")
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
                phase = found.get("phase")
                return found["rows"], found["lengths"], found["columns"], found["values"], phase
        except Exception as error:  # NumPy raises whatever the zip or the array makes it
            raise StoreCorrupt(f"{path} is damaged; delete it, and it is made again") from error

    def _path(self, shard: int) -> Path:
        return self._folder / f"{self._key[:16]}-{shard:06}.npz"


class _Progress:
    """Says now and then how far it is."""

    def __init__(self, say: Say, total: int | None) -> None:
        self._say, self._total = say, total
        self._start = self._last = time.monotonic()

    def at(self, count: int) -> None:
        now = time.monotonic()
        if now - self._last >= _SAY:
            self._last = now
            of = "" if self._total is None else f" of {self._total:,}"
            self._say(f"features: {count:,}{of} positions, {now - self._start:.0f} s so far")
