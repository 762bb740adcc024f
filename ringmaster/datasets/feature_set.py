"""Build the feature file of a position file.

Counts come from a CSV or NPZ file, from a function of the position, or from an engine's
answers.  Rows of a file are matched by the text of their positions, since the position file is
filtered, merged and split.  Rows of other positions are ignored.  A position without a row is
an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ringmaster.datasets.boards import position_keys
from ringmaster.datasets.feature_tables import (
    CountsError,
    Rows,
    Table,
    Unnamed,
    Wanted,
    call,
    read_table,
)
from ringmaster.errors import DataFileError, StoreCorrupt, StoreUnwritable
from ringmaster.formats.source import Progress
from ringmaster.positions import FeatureFile, FeatureWriter, PositionFile, existing

#: Increased by every change that gives another file from the same sources.
_VERSION = 1
_CHUNK = 1 << 14
#: Number of positions that an error lists.
_EXAMPLES = 3

Say = Callable[[str], None]
#: A file, or a function of a position's text.
Source = str | os.PathLike[str] | Callable[[str], Any]


def build_features(
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
    """Return the feature file of all positions, reusing `target` if it has the same key.

    names    of the features: `Linear.features` and those of frozen parameters
    phase    whether to store each position's phase, for a tapered evaluation
    unnamed  treatment of other features
    version  source text of a function, so that a changed function is noticed

    The file is written completely or not at all.

    Raises DataFileError, StoreUnwritable, and StoreCorrupt where `target` is not a feature file.
    """
    wanted = Wanted(names, phase=phase, unnamed=unnamed)
    key = _key(source, positions, wanted, version)
    if (file := existing(FeatureFile, target, key)) is not None:
        return file
    with FeatureWriter(target, names, len(positions), key, phase=phase) as writer:
        if callable(source):
            _write_results(source, positions, wanted, writer, say)
        else:
            _write_table(read_table(os.fspath(source), wanted), positions, writer, say)
        missing = writer.missing()
        if len(missing):
            shown = "; ".join(positions.text(int(i)).decode() for i in missing[:_EXAMPLES])
            raise DataFileError(
                str(source),
                None,
                f"{len(missing):,} of {len(positions):,} positions have no row: {shown}",
            )
        writer.finish()
    return FeatureFile(target)


def _key(source: Source | None, positions: PositionFile, wanted: Wanted, version: str) -> str:
    """Return a hash of everything that determines the counts.

    source  None for an engine's answers

    Raises DataFileError for a missing file.
    """
    inputs: list[Any] = [_VERSION, positions.key, len(positions)]
    inputs += [wanted.names, wanted.phase, wanted.unnamed, version]
    if source is not None and not callable(source):
        try:
            status = os.stat(source)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise DataFileError(str(source), None, f"cannot read the features: {reason}") from None
        inputs += [os.fspath(source), status.st_size, status.st_mtime_ns]
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


def _write_results(
    function: Callable[[str], Any],
    positions: PositionFile,
    wanted: Wanted,
    writer: FeatureWriter,
    say: Say,
) -> None:
    progress = Progress(say)
    for first in range(0, len(positions), _CHUNK):
        texts = positions.texts(first, min(first + _CHUNK, len(positions)))
        rows = _called_rows(wanted, [(text,) for text in texts], function)
        writer.add(np.arange(first, first + len(texts)), *rows)
        progress.report(f"features: {first + len(texts):,} of {len(positions):,} positions")


def _called_rows(
    wanted: Wanted, arguments: Sequence[tuple[bytes, ...]], function: Callable[..., Any]
) -> Rows:
    """Return a function's results as rows; its last argument is the position."""
    results = []
    for words in arguments:
        try:
            results.append(call(function, *(word.decode(errors="replace") for word in words)))
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


def _at(words: tuple[bytes, ...], error: CountsError) -> DataFileError:
    return DataFileError("features", None, f"{error} (position {words[-1].decode()})")


def _write_table(table: Table, positions: PositionFile, writer: FeatureWriter, say: Say) -> None:
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
    progress, read, ignored = Progress(say), 0, 0
    for texts, rows in table:
        wanted = position_keys(texts, positions.game)
        left, right = (np.searchsorted(keys, wanted, side=side) for side in ("left", "right"))
        times = right - left
        read += len(texts)
        ignored += int(np.count_nonzero(times == 0))
        # the rows repeated for each equal position, and the positions
        which = np.repeat(np.arange(len(times)), times)
        nth = np.arange(len(which)) - np.repeat(np.cumsum(times) - times, times)
        phase = None if rows.phase is None else rows.phase[which]
        writer.add(order[left[which] + nth], rows.matrix[which], phase)
        progress.report(f"features: {read:,} positions")
    if ignored:
        say(f"{ignored:,} of {read:,} rows of features are of positions that are not in the set")


class FeatureShards:
    """Counts from an engine's answers, shard by shard, in any order and over several runs.

    Each shard is a file beside `target` until all shards are complete.

    function  of (answer, position), from the control file

    The other arguments are those of `build_features`.
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

    def existing(self) -> FeatureFile | None:
        """Return the finished feature file, None if there is none."""
        return existing(FeatureFile, self._target, self._key)

    def missing(self, shards: int) -> list[int]:
        """Return the missing numbers of the shards 0, 1, …."""
        return [shard for shard in range(shards) if not self._path(shard).exists()]

    def put(self, shard: int, rows: range, answers: Sequence[str]) -> None:
        """Store an engine's answers to the positions `rows` of the position file.

        Raises DataFileError for a function that fails or returns invalid counts, and
        StoreUnwritable.
        """
        texts = self._positions.texts(rows.start, rows.stop, rows.step)
        pairs = [(a.encode(), t) for a, t in zip(answers, texts, strict=True)]
        counts = _called_rows(self._wanted, pairs, self._function)
        path = self._path(shard)
        matrix = counts.matrix
        arrays: dict[str, Any] = {"rows": np.array(rows, dtype=np.int64), "phase": counts.phase}
        arrays |= {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
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
        """Build the feature file from all shards, and delete their files.

        Raises StoreCorrupt for a damaged shard, StoreUnwritable.
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

    def _read(self, path: Path) -> tuple[Any, Any, Any]:
        if not path.exists():
            raise StoreCorrupt(f"{path} is missing; put it back, or start a new tune")
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                rows, phase = archive["rows"], archive.get("phase")
                parts = tuple(archive[name] for name in ("data", "indices", "indptr"))
                shape = (len(rows), len(self._wanted.names))
                return rows, sparse.csr_array(parts, shape=shape), phase
        except Exception as error:  # NumPy raises errors of many types for a damaged file
            raise StoreCorrupt(
                f"{path} is damaged; delete it; the next run makes a new one"
            ) from error

    def _path(self, shard: int) -> Path:
        return self._folder / f"{self._key[:16]}-{shard:06}.npz"
