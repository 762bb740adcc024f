"""Build the feature file of a position file.

Counts come from a CSV or NPZ file, from a function of the position, or from an engine's
answers.  Rows of a file are matched by the text of their positions, since the position file is
filtered, merged and split.  Rows of other positions are ignored.  A position without a row is
an error.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from ringmaster.datasets.boards import position_keys
from ringmaster.errors import DataFileError, StoreCorrupt, shown
from ringmaster.formats.source import Progress, Source
from ringmaster.model.output_files import make_folder, replacing, writing
from ringmaster.positions import FeatureFile, PositionFile, write_features

#: Rows of a matrix of counts, `csr_array`s of SciPy, which has no types.
Rows = Any
#: Treatment of a feature without a parameter.
Unnamed = Literal["refuse", "ignore"]
#: Name of a position's phase beside its features.
PHASE = "phase"
_LISTED_NAMES = 5


class CountsError(Exception):
    """A fault of counts; callers add the place.

    row  number of the wrong row, None for a fault of all rows
    """

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


class Wanted:
    """The features of a matrix.

    names    in the order of columns
    phase    whether positions have a phase, too: it is the last column
    unnamed  treatment of other features
    """

    def __init__(self, names: Sequence[str], *, phase: bool, unnamed: Unnamed = "refuse") -> None:
        self.names, self.phase, self.unnamed = tuple(names), phase, unnamed
        self.columns = (*self.names, PHASE) if phase else self.names
        self._place = {name: i for i, name in enumerate(self.columns)}

    def places(self, header: Sequence[str]) -> list[int]:
        """Return for each column its place in a table.

        Raises CountsError for repeated, missing and unknown columns.
        """
        twice = sorted({name for name in header if list(header).count(name) > 1})
        if twice:
            raise CountsError(f"there are two columns called {twice[0]!r}")
        at = {name: i for i, name in enumerate(header)}
        missing = [name for name in self.names if name not in at]
        if missing:
            raise CountsError(
                f"there is no column for the parameters' {_list(missing)}; there are "
                f"{_list(header)}"
            )
        if self.phase and PHASE not in at:
            raise CountsError(f'a tapered evaluation needs a column "{PHASE}"')
        self._refuse_others(header)
        return [at[name] for name in self.columns]

    def _refuse_others(self, names: Iterable[Any]) -> None:
        others = [str(name) for name in names if name not in self._place and name != PHASE]
        if others and self.unnamed == "refuse":
            raise CountsError(
                f"no parameter is the weight of {_list(others)}; add a parameter for each, "
                'with frozen=True where it is not tuned, or set Linear(unnamed="ignore")'
            )

    def rows(self, results: Sequence[Any]) -> Rows:
        """Convert a function's results for some positions.

        results  each a mapping from features to counts, a sequence of counts in the order of
                 `columns`, or None for no feature

        Raises CountsError.
        """
        indptr, places, values = [0], list[int](), list[float]()
        for row, result in enumerate(results):
            if result is not None:
                try:
                    is_mapping = isinstance(result, Mapping)
                    counts = self._mapping(result) if is_mapping else self._sequence(result)
                except CountsError as error:
                    error.row = row
                    raise
                places += [place for place, _ in counts]
                values += [count for _, count in counts]
            indptr.append(len(places))
        shape = (len(results), len(self.columns))
        return self.checked(sparse.csr_array((np.array(values), places, indptr), shape=shape))

    def _mapping(self, result: Mapping[Any, Any]) -> list[tuple[int, float]]:
        place = self._place
        try:
            counts = sorted((place[k], float(v)) for k, v in result.items() if k in place)
        except (TypeError, ValueError):
            raise CountsError(f"not every count is a number: {shown(result)}") from None
        if len(counts) < len(result):
            self._refuse_others(result)
        if self.phase and PHASE not in result:
            raise CountsError(f'there is no "{PHASE}", which a tapered evaluation needs')
        return counts

    def _sequence(self, result: Any) -> list[tuple[int, float]]:
        expected = len(self.columns)
        try:
            counts = [float(v) for v in result]
        except (TypeError, ValueError):
            raise CountsError(
                f"a mapping from features to counts is expected, or {expected} numbers, not "
                f"{shown(result)}"
            ) from None
        if len(counts) != expected:
            last = f', the last of them the "{PHASE}"' if self.phase else ""
            raise CountsError(
                f"there are {len(counts)} numbers, but {expected} are expected{last}: counts of "
                f"{_list(self.names)}, in this order"
            )
        return list(enumerate(counts))

    def checked(self, matrix: Rows) -> Rows:
        """Return rows without zeros.

        Raises CountsError for infinite counts, and for a phase outside 0 to 1.
        """
        with np.errstate(over="ignore"):
            # the type of the file
            wrong = np.flatnonzero(~np.isfinite(matrix.data.astype(np.float32)))
        if len(wrong):
            row = int(np.searchsorted(matrix.indptr, wrong[0], side="right")) - 1
            raise CountsError("a count is not a finite number", row)
        matrix.eliminate_zeros()
        if self.phase:
            phases = matrix[:, [-1]].toarray()[:, 0]
            wrong = np.flatnonzero((phases < 0) | (phases > 1))
            if len(wrong):
                row = int(wrong[0])
                raise CountsError(
                    f"the phase must be from 0 (endgame) to 1 (opening), not {phases[row]:g}; "
                    "divide it by its value at the start of a game",
                    row,
                )
        return matrix


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of the control file.  Raises CountsError for any exception."""
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a control file must not end the program by SystemExit
        raise CountsError(f"the function fails: {type(error).__name__}: {error}") from error


def _list(names: Sequence[str]) -> str:
    listed = ", ".join(repr(name) for name in names[:_LISTED_NAMES])
    more = len(names) - _LISTED_NAMES
    return listed + (f" and {more:,} more" if more > 0 else "") or "nothing"


#: Names for the column of positions.
TEXTS = ("fen", "sfen", "epd", "position")
#: Positions that are converted at once.
_CHUNK = 4096

#: Some positions with their rows.
Table = Iterator[tuple[list[bytes], Rows]]


def read_table(path: str, wanted: Wanted) -> Table:
    """Yield the rows of a CSV or NPZ file, some thousands at a time.

    Raises DataFileError with the number of the line or row.
    """
    # the source decompresses; its game does not matter here
    source = Source(path, "chess")
    if path.lower().endswith(".npz"):
        return _npz(source, wanted)
    if source.suffix in (".csv", ".tsv", ".txt"):
        return _csv(source, wanted)
    raise source.error(None, "a table of features is a .csv or a .npz file")


def _csv(source: Source, wanted: Wanted) -> Table:
    lines = (line for _, line in source.lines())
    start = next(lines, "")
    delimiter = max(",;\t", key=start.count)
    header = [name.strip() for name in next(csv.reader([start], delimiter=delimiter), [])]
    texts = [i for i, name in enumerate(header) if name.lower() in TEXTS]
    if len(texts) != 1:
        number = "no column" if not texts else f"{len(texts)} columns"
        raise source.error(
            1, f"{number} with the position; the first line must name one, as fen or sfen"
        )
    header = [PHASE if name.lower() == PHASE else name for name in header]
    others = [i for i in range(len(header)) if i not in texts]
    try:
        used = [others[place] for place in wanted.places([header[i] for i in others])]
    except CountsError as error:
        raise source.error(1, str(error)) from None
    reader = csv.reader(lines, delimiter=delimiter)
    rows = _csv_rows(source, reader, len(header), texts[0], used)
    while some := list(islice(rows, _CHUNK)):
        numbers, positions, counts = zip(*some, strict=True)
        try:
            matrix = wanted.checked(sparse.csr_array(np.array(counts)))
        except CountsError as error:
            raise source.error(numbers[error.row or 0], str(error)) from None
        yield list(positions), matrix


def _csv_rows(
    source: Source, reader: Any, columns: int, text_at: int, used: Sequence[int]
) -> Iterator[tuple[int, bytes, list[float]]]:
    """Yield (number of the line, position, counts)."""
    try:
        for row in filter(None, reader):
            number = reader.line_num + 1
            if len(row) != columns:
                raise source.error(number, f"there are {len(row)} fields, but {columns} columns")
            counts = [_count(source, number, row[i]) for i in used]
            yield number, row[text_at].strip().encode(), counts
    except csv.Error as error:
        raise source.error(reader.line_num + 1, f"cannot be read: {error}") from None


def _count(source: Source, number: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise source.error(number, f"{shown(text)} is not a number") from None


def _npz(source: Source, wanted: Wanted) -> Table:
    try:
        with open(source.path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Exception as error:  # NumPy raises errors of many types for a damaged file
        raise source.error(None, f"cannot read the features: {error}") from None
    try:
        yield from _arrays(arrays, wanted)
    except CountsError as error:
        raise source.error(None, str(error)) from None


def _arrays(arrays: Mapping[str, Any], wanted: Wanted) -> Table:
    lower = {name.lower(): name for name in arrays}
    text = next((arrays[lower[name]] for name in TEXTS if name in lower), None)
    if text is None or text.ndim != 1 or text.dtype.kind not in "US":
        raise CountsError('an array "fen" (or "sfen") with the positions as text is needed')
    if "names" not in arrays or arrays["names"].dtype.kind not in "US" or arrays["names"].ndim != 1:
        raise CountsError('an array "names" with the names of the features is needed')
    features = [n.decode() if isinstance(n, bytes) else n for n in arrays["names"].tolist()]
    count = len(text)
    matrix = _matrix(arrays, (count, len(features)))
    phase = arrays.get(PHASE) if wanted.phase else None
    if phase is not None and (phase.shape != (count,) or phase.dtype.kind not in "iufb"):
        raise CountsError(f'"{PHASE}" must be {count} numbers, not {phase.dtype} {phase.shape}')
    places = wanted.places(features if phase is None else [*features, PHASE])
    for first in range(0, count, _CHUNK):
        part = slice(first, first + _CHUNK)
        raw = text[part].tolist()
        texts = [t.strip() if isinstance(t, bytes) else t.strip().encode() for t in raw]
        rows = sparse.csr_array(matrix[part])
        if phase is not None:
            rows = sparse.hstack([rows, phase[part, None]], format="csr")
        yield texts, wanted.checked(rows[:, places])


def _matrix(arrays: Mapping[str, Any], shape: tuple[int, int]) -> Any:
    """Return the dense or sparse matrix of an NPZ file.  Raises CountsError."""
    if "data" in arrays and "indices" in arrays and "indptr" in arrays:
        try:
            data, indices, indptr = (arrays[name] for name in ("data", "indices", "indptr"))
            matrix = sparse.csr_array((data, indices, indptr), shape=shape)
            matrix.check_format(full_check=True)
        except (ValueError, TypeError, IndexError) as error:
            raise CountsError(
                f'"data", "indices" and "indptr" are no sparse matrix by rows with {shape[0]} rows '
                f"and {shape[1]} columns ({error})"
            ) from None
    elif "features" not in arrays or arrays["features"].shape != shape:
        raise CountsError(
            f'an array "features" of the shape {shape} is needed, or "data", "indices" and '
            '"indptr" of a sparse one'
        )
    else:
        matrix = arrays["features"]
    if matrix.dtype.kind not in "iufb":
        raise CountsError("a count is not a number")
    return matrix.astype(np.int8) if matrix.dtype.kind == "b" else matrix


#: Increased by every change that gives another file from the same sources.
_VERSION = 1
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
            make_folder(self._folder)
            for old in self._folder.iterdir():
                if not old.name.startswith(self._key[:16]):
                    old.unlink()
        with replacing(path, sync=True) as file:
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
