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
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ringmaster.datasets.boards import position_keys
from ringmaster.datasets.feature_tables import (
    CountsError,
    Rows,
    Unnamed,
    Wanted,
    call,
    read_table,
)
from ringmaster.errors import DataFileError, StoreCorrupt
from ringmaster.formats.source import Progress, Source
from ringmaster.positions import FeatureFile, PositionFile, write_features
from ringmaster.positions.columns import replacing, writing

#: Increased by every change that gives another file from the same sources.
_VERSION = 1
_CHUNK = 1 << 14
#: The arrays of a sparse matrix.
_PARTS = ("data", "indices", "indptr")
#: Number of positions that an error lists.
_EXAMPLES = 3


class Features:
    """The features of all positions of a position file.

    An engine's answers arrive shard by shard, in any order and over several runs.  Each shard is
    a file beside `target` until all shards are complete.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Callable[..., Any],
        positions: PositionFile,
        names: Sequence[str],
        target: Path,
        *,
        phase: bool = False,
        unnamed: Unnamed = "refuse",
        version: str = "",
    ) -> None:
        """Describe the features.

        source   a file, or a function of a position's text, or of an engine's answer and the text
        names    of the features: `Linear.features` and those of frozen parameters
        target   the feature file
        phase    whether to store each position's phase, for a tapered evaluation
        unnamed  treatment of other features
        version  source text of a function, so that a changed function is noticed

        Raises DataFileError for a missing source.
        """
        self._source, self._positions, self._target = source, positions, target
        self.version = version
        self._wanted = Wanted(names, phase=phase, unnamed=unnamed)
        inputs: list[Any] = [_VERSION, positions.key, len(positions)]
        inputs += [self._wanted.names, phase, unnamed, version]
        if not callable(source):
            path = os.fspath(source)
            inputs += [path, *Source(path, positions.game).state()]
        self._key = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()
        self._folder = target.with_name(f"{target.name}.pieces")

    def existing(self) -> FeatureFile | None:
        """Return the finished feature file, None if there is none of the same origin.

        Raises StoreCorrupt where `target` is not a feature file.
        """
        return FeatureFile.existing(self._target, self._key)

    def build(self, say: Callable[[str], None]) -> FeatureFile:
        """Write the feature file from a table or a function of the position.

        The file is written completely or not at all.

        Raises DataFileError, StoreUnwritable.
        """
        blocks = self._results(say) if callable(self._source) else self._table(say)
        return self._write(blocks, str(self._source))

    def _write(self, blocks: Iterable[tuple[Any, Rows]], source: str) -> FeatureFile:
        """Write the numbers of positions with their rows."""
        wanted, count = self._wanted, len(self._positions)
        missing = write_features(
            self._target, wanted.names, count, self._key, blocks, phase=wanted.phase
        )
        if len(missing):
            texts = "; ".join(self._positions.text(int(i)).decode() for i in missing[:_EXAMPLES])
            message = f"{len(missing):,} of {count:,} positions have no row: {texts}"
            raise DataFileError(source, None, message)
        return FeatureFile(self._target)

    def _texts(self) -> Iterator[tuple[int, list[bytes]]]:
        """Yield (number of the first position, texts)."""
        count = len(self._positions)
        for first in range(0, count, _CHUNK):
            yield first, self._positions.texts(first, min(first + _CHUNK, count))

    def _results(self, say: Callable[[str], None]) -> Iterator[tuple[Any, Rows]]:
        """Yield the rows of a function's results."""
        progress = Progress(say)
        for first, texts in self._texts():
            stop = first + len(texts)
            yield np.arange(first, stop), self._called([(text,) for text in texts])
            progress.report(f"features: {stop:,} of {len(self._positions):,} positions")

    def _called(self, arguments: Sequence[tuple[bytes, ...]]) -> Rows:
        """Return a function's results as rows; its last argument is the position."""
        assert callable(self._source)
        results: list[Any] = []
        try:
            for words in arguments:
                results.append(call(self._source, *(w.decode(errors="replace") for w in words)))
            return self._wanted.rows(results)
        except CountsError as error:
            row = len(results) if error.row is None else error.row
            place = f"position {arguments[row][-1].decode()}"
            raise DataFileError("features", None, f"{error} ({place})") from error

    def _table(self, say: Callable[[str], None]) -> Iterator[tuple[Any, Rows]]:
        """Yield the rows of a file for their positions."""
        assert not callable(self._source)
        game = self._positions.game
        every = [position_keys(texts, game) for _, texts in self._texts()]
        keys = np.concatenate([np.zeros(0, dtype=np.uint64), *every])
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        progress, read, ignored = Progress(say), 0, 0
        for texts, rows in read_table(os.fspath(self._source), self._wanted):
            wanted = position_keys(texts, game)
            left, right = (np.searchsorted(keys, wanted, side=side) for side in ("left", "right"))
            times = right - left
            read += len(texts)
            ignored += int(np.count_nonzero(times == 0))
            # the rows repeated for each equal position, and the positions
            which = np.repeat(np.arange(len(times)), times)
            nth = np.arange(len(which)) - np.repeat(np.cumsum(times) - times, times)
            yield order[left[which] + nth], rows[which]
            progress.report(f"features: {read:,} positions")
        if ignored:
            share = f"{ignored:,} of {read:,}"
            say(f"{share} rows of features are of positions that are not in the set")

    def put(self, shard: int, rows: range, answers: Sequence[str]) -> None:
        """Store an engine's answers to the positions `rows` of the position file.

        Raises DataFileError for a function that fails or returns invalid counts, and
        StoreUnwritable.
        """
        texts = self._positions.texts(rows.start, rows.stop, rows.step)
        counts = self._called([(a.encode(), t) for a, t in zip(answers, texts, strict=True)])
        path = self._path(shard)
        with writing(path):
            self._folder.mkdir(exist_ok=True)
            for old in self._folder.iterdir():
                if not old.name.startswith(self._key[:16]):
                    old.unlink()
        with replacing(path) as file:
            parts = {name: getattr(counts, name) for name in _PARTS}
            np.savez(file, rows=np.array(rows, dtype=np.int64), **parts)

    def finish(self, shards: int) -> FeatureFile:
        """Build the feature file from all shards, and delete their files.

        Raises StoreCorrupt for a damaged shard, DataFileError for missing positions,
        StoreUnwritable.
        """
        file = self._write(map(self._read, map(self._path, range(shards))), "features")
        shutil.rmtree(self._folder, ignore_errors=True)
        return file

    def _read(self, path: Path) -> tuple[Any, Rows]:
        if not path.exists():
            raise StoreCorrupt(f"{path} is missing; put it back, or start a new tune")
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                rows, parts = archive["rows"], tuple(archive[name] for name in _PARTS)
                shape = (len(rows), len(self._wanted.columns))
                return rows, sparse.csr_array(parts, shape=shape)
        except Exception as error:  # NumPy raises errors of many types for a damaged file
            raise StoreCorrupt(
                f"{path} is damaged; delete it; the next run makes a new one"
            ) from error

    def _path(self, shard: int) -> Path:
        return self._folder / f"{self._key[:16]}-{shard:06}.npz"
