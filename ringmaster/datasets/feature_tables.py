"""Read feature counts from CSV and NPZ files, and convert counts to rows of a sparse matrix.

Each row of a table holds a position's text beside its counts.
"""

from __future__ import annotations

import csv
import io
import lzma
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ringmaster.errors import DataFileError
from ringmaster.formats.source import Source

Numbers = npt.NDArray[Any]
#: Treatment of a feature without a parameter.
Unnamed = Literal["refuse", "ignore"]
#: Name of a position's phase beside its features.
PHASE = "phase"
_LISTED_NAMES = 5
#: Errors of reading lines of a file that may be compressed.
_UNREADABLE = (csv.Error, UnicodeDecodeError, EOFError, OSError, zlib.error, lzma.LZMAError)


class CountsError(Exception):
    """A fault of one position's counts; callers add the place."""


class Rows(NamedTuple):
    """Some rows of a sparse matrix.

    lengths          (k,), numbers of entries
    columns, values  entries of all rows, row after row
    phase            (k,) or None
    """

    lengths: Numbers
    columns: Numbers
    values: Numbers
    phase: npt.NDArray[np.float32] | None


class Wanted:
    """The features of a matrix.

    names    in the order of columns
    phase    whether positions have a phase, too
    unnamed  treatment of other features
    """

    def __init__(self, names: Sequence[str], *, phase: bool, unnamed: Unnamed = "refuse") -> None:
        self.names, self.phase, self.unnamed = tuple(names), phase, unnamed
        self._place = {name: i for i, name in enumerate(names)}

    def columns_of(self, header: Sequence[str]) -> npt.NDArray[np.intp]:
        """Return the column in the matrix for each feature of a table, −1 for none.

        Raises CountsError for repeated, missing and unknown features.
        """
        twice = sorted({name for name in header if list(header).count(name) > 1})
        if twice:
            raise CountsError(f"there are two columns called {twice[0]!r}")
        missing = [name for name in self.names if name not in header]
        if missing:
            raise CountsError(
                f"there is no column for the parameters' {_list(missing)}; there are "
                f"{_list(header)}"
            )
        self._refuse([name for name in header if name not in self._place])
        return np.array([self._place.get(name, -1) for name in header], dtype=np.intp)

    def _refuse(self, others: Sequence[str]) -> None:
        if others and self.unnamed == "refuse":
            raise CountsError(
                f"no parameter is the weight of {_list(others)}; add a parameter for each, "
                'with frozen=True where it is not tuned, or set Linear(unnamed="ignore")'
            )

    def rows(self, results: Sequence[Any]) -> Rows:
        """Convert a function's results for some positions.

        results  each a mapping from features to counts, a sequence of counts in the order of
                 `names`, or None for no feature.  The phase is in the mapping, or is the last
                 number

        Raises CountsError.
        """
        lengths, columns, values = np.zeros(len(results), dtype=np.uint32), [], []
        phase = np.zeros(len(results), dtype=np.float32) if self.phase else None
        for i, result in enumerate(results):
            if result is None:
                continue
            if isinstance(result, Mapping):
                places, counts, share = self._mapping(result)
            else:
                places, counts, share = self._sequence(result)
            lengths[i] = len(places)
            columns += places
            values += counts
            if phase is not None:
                phase[i] = share
        numbers = np.array(values, dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise CountsError("a count is not a finite number")
        return Rows(lengths, np.array(columns, dtype=np.intp), numbers, checked_phase(phase))

    def _mapping(self, result: Mapping[Any, Any]) -> tuple[list[int], list[float], float]:
        place = self._place
        try:
            pairs = [(place[k], float(v)) for k, v in result.items() if v and k in place]
            if len(pairs) < len(result):
                self._refuse([str(k) for k in result if k not in place and k != PHASE])
            share = float(result[PHASE]) if self.phase else 0.0
        except KeyError:
            raise CountsError(f'there is no "{PHASE}", which a tapered evaluation needs') from None
        except (TypeError, ValueError):
            raise CountsError(f"not every count is a number: {_short(result)}") from None
        pairs.sort()
        return [p for p, _ in pairs], [v for _, v in pairs], share

    def _sequence(self, result: Any) -> tuple[list[int], list[float], float]:
        expected = len(self.names) + self.phase
        try:
            counts = [float(v) for v in result]
        except (TypeError, ValueError):
            raise CountsError(
                f"a mapping from features to counts is expected, or {expected} numbers, not "
                f"{_short(result)}"
            ) from None
        if len(counts) != expected:
            last = f', the last of them the "{PHASE}"' if self.phase else ""
            raise CountsError(
                f"there are {len(counts)} numbers, but {expected} are expected{last}: counts of "
                f"{_list(self.names)}, in this order"
            )
        share = counts.pop() if self.phase else 0.0
        places = [i for i, v in enumerate(counts) if v]
        return places, [counts[i] for i in places], share


def dense_rows(counts: Numbers, columns: npt.NDArray[np.intp], phase: Numbers | None) -> Rows:
    """Return the rows of a dense table, (k, features of the table).

    columns  for each feature of the table its column in the matrix, −1 for none

    Raises CountsError.
    """
    if counts.dtype.kind == "f" and not np.isfinite(counts).all():
        raise CountsError("a count is not a finite number")
    used = np.flatnonzero(columns >= 0)
    used = used[np.argsort(columns[used])]
    rows, places = np.nonzero(counts[:, used])
    lengths = np.bincount(rows, minlength=len(counts))
    return Rows(lengths, columns[used][places], counts[:, used][rows, places], checked_phase(phase))


def checked_phase(phase: Numbers | None) -> npt.NDArray[np.float32] | None:
    """Return phases as floats.  Raises CountsError for a phase outside 0 to 1."""
    if phase is None:
        return None
    phases = np.asarray(phase, dtype=np.float32)
    wrong = ~((phases >= 0) & (phases <= 1))
    if wrong.any():
        raise CountsError(
            f"the phase must be from 0 (endgame) to 1 (opening), not {phases[wrong][0]:g}; divide "
            "it by its value at the start of a game"
        )
    return phases


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of the control file.  Raises CountsError for any exception."""
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a control file must not end the program by SystemExit
        raise CountsError(f"the function fails: {type(error).__name__}: {error}") from error


def as_number(text: str) -> float:
    """Return the number of a table's field.  Raises CountsError."""
    try:
        number = float(text)
    except ValueError:
        raise CountsError(f"{_short(text)} is not a number") from None
    if not math.isfinite(number):
        raise CountsError("a count is not a finite number")
    return number


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_LISTED_NAMES])
    more = len(names) - _LISTED_NAMES
    return shown + (f" and {more:,} more" if more > 0 else "") or "nothing"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


#: Names for the column of positions.
TEXTS = ("fen", "sfen", "epd", "position")
_CHUNK = 4096

#: Some positions with their rows.
Table = Iterator[tuple[list[bytes], Rows]]


def read_table(path: str, wanted: Wanted) -> Table:
    """Yield the rows of a CSV or NPZ file, some thousands at a time.

    Raises DataFileError with the number of the line or row.
    """
    stem = path.lower().removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz")
    if stem.endswith(".npz"):
        return _npz(path, wanted)
    if stem.endswith((".csv", ".tsv", ".txt")):
        return _csv(path, wanted)
    raise DataFileError(path, None, "a table of features is a .csv or a .npz file")


def _csv(path: str, wanted: Wanted) -> Table:
    # Source decompresses files; its game does not matter here
    with Source(path, "chess").open() as raw, io.TextIOWrapper(raw, "utf-8-sig") as file:
        try:
            start = file.readline()
            delimiter = max(",;\t", key=start.count)
            head = next(csv.reader([start], delimiter=delimiter), [])
        except _UNREADABLE as error:
            raise DataFileError(path, 1, f"cannot be read: {error}") from None
        header = [name.strip() for name in head]
        text_at, phase_at, features = _split_header(path, header, wanted)
        try:
            columns = wanted.columns_of([header[i] for i in features])
        except CountsError as error:
            raise DataFileError(path, 1, str(error)) from None
        reader = csv.reader(file, delimiter=delimiter)
        lines: list[list[str]] = []
        numbers: list[int] = []
        try:
            for line in reader:
                if not line:
                    continue
                if len(line) != len(header):
                    raise DataFileError(
                        path,
                        reader.line_num + 1,
                        f"there are {len(line)} fields, but {len(header)} columns",
                    )
                lines.append(line)
                numbers.append(reader.line_num + 1)
                if len(lines) == _CHUNK:
                    yield _lines(path, lines, numbers, text_at, phase_at, features, columns)
                    lines, numbers = [], []
        except _UNREADABLE as error:
            raise DataFileError(path, reader.line_num + 1, f"cannot be read: {error}") from None
        if lines:
            yield _lines(path, lines, numbers, text_at, phase_at, features, columns)


def _split_header(
    path: str, header: Sequence[str], wanted: Wanted
) -> tuple[int, int | None, list[int]]:
    """Return the columns of the text, the phase and the features."""
    texts = [i for i, name in enumerate(header) if name.lower() in TEXTS]
    if len(texts) != 1:
        number = "no column" if not texts else f"{len(texts)} columns"
        raise DataFileError(
            path, 1, f"{number} with the position; the first line must name one, as fen or sfen"
        )
    phases = [i for i, name in enumerate(header) if name.lower() == PHASE]
    if wanted.phase and len(phases) != 1:
        raise DataFileError(path, 1, f'a tapered evaluation needs a column "{PHASE}"')
    features = [i for i in range(len(header)) if i not in (*texts, *phases)]
    return texts[0], phases[0] if wanted.phase else None, features


def _lines(
    path: str,
    lines: list[list[str]],
    numbers: list[int],
    text_at: int,
    phase_at: int | None,
    features: list[int],
    columns: npt.NDArray[np.intp],
) -> tuple[list[bytes], Rows]:
    used = [i for i, place in zip(features, columns.tolist(), strict=True) if place >= 0]
    places = columns[columns >= 0]
    more = [] if phase_at is None else [phase_at]
    try:
        numbers_of = np.array([[line[i] for i in (*used, *more)] for line in lines])
        table = numbers_of.astype(np.float32).reshape(len(lines), len(used) + len(more))
        phase = table[:, -1] if more else None
        counts = table[:, : len(used)]
        return [line[text_at].strip().encode() for line in lines], dense_rows(counts, places, phase)
    except (ValueError, CountsError):
        pass
    for line, number in zip(lines, numbers, strict=True):
        try:
            counts = np.array([[as_number(line[i]) for i in used]])
            share = np.array([as_number(line[i]) for i in more]) if more else None
            dense_rows(counts, places, share)
        except CountsError as error:
            raise DataFileError(path, number, str(error)) from None
    raise AssertionError("every line is right, but not all lines together")


def _npz(path: str, wanted: Wanted) -> Table:
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
        # zipfile raises RuntimeError for encryption, and for compression that it lacks
        raise DataFileError(path, None, f"cannot read the features: {error}") from None
    try:
        yield from _arrays(path, arrays, wanted)
    except CountsError as error:
        raise DataFileError(path, None, str(error)) from None


def _arrays(path: str, arrays: Mapping[str, Any], wanted: Wanted) -> Table:
    lower = {name.lower(): name for name in arrays}
    text = next((arrays[lower[name]] for name in TEXTS if name in lower), None)
    if text is None or text.ndim != 1 or text.dtype.kind not in "US":
        raise CountsError('an array "fen" (or "sfen") with the positions as text is needed')
    if "names" not in arrays or arrays["names"].dtype.kind not in "US":
        raise CountsError('an array "names" with the names of the features is needed')
    names = arrays["names"]
    if names.dtype.kind == "S":
        names = np.char.decode(names, "utf-8")
    features = [str(name) for name in names]
    columns = wanted.columns_of(features)
    phase = arrays[PHASE] if wanted.phase and PHASE in arrays else None
    if wanted.phase and phase is None:
        raise CountsError(f'a tapered evaluation needs an array "{PHASE}"')
    count = len(text)
    if phase is not None and phase.shape != (count,):
        raise CountsError(f'"{PHASE}" has the shape {phase.shape}, not ({count},)')
    sparse = all(name in arrays for name in ("data", "indices", "indptr"))
    if sparse:
        _check_sparse(arrays, count, len(features))
    elif "features" not in arrays or arrays["features"].shape != (count, len(features)):
        raise CountsError(
            f'an array "features" of the shape ({count}, {len(features)}) is needed, or "data", '
            '"indices" and "indptr" of a sparse one'
        )
    for first in range(0, count, _CHUNK):
        stop = min(first + _CHUNK, count)
        share = None if phase is None else phase[first:stop]
        if sparse:
            rows = _sparse_rows(arrays, first, stop, columns, share)
        else:
            rows = dense_rows(arrays["features"][first:stop], columns, share)
        raw = text[first:stop].tolist()
        yield [t.strip() if isinstance(t, bytes) else t.strip().encode() for t in raw], rows


def _check_sparse(arrays: Mapping[str, Any], count: int, features: int) -> None:
    indptr, indices, data = arrays["indptr"], arrays["indices"], arrays["data"]
    whole = all(a.ndim == 1 and a.dtype.kind in "iu" for a in (indptr, indices))
    if (
        not whole
        or indptr.shape != (count + 1,)
        or (np.diff(indptr.astype(np.int64)) < 0).any()
        or indptr[0] != 0
        or not len(indices) == len(data) == indptr[-1]
        or (len(indices) and (indices.min() < 0 or indices.max() >= features))
    ):
        raise CountsError(
            f'"data", "indices" and "indptr" are no sparse matrix by rows with {count} rows and '
            f"{features} columns"
        )
    if data.dtype.kind not in "iufb" or not np.isfinite(data).all():
        raise CountsError("a count is not a finite number")


def _sparse_rows(
    arrays: Mapping[str, Any],
    first: int,
    stop: int,
    columns: npt.NDArray[np.intp],
    phase: Any,
) -> Rows:
    pointers = arrays["indptr"][first : stop + 1].astype(np.int64)
    places = columns[arrays["indices"][pointers[0] : pointers[-1]]]
    values = arrays["data"][pointers[0] : pointers[-1]]
    used = (places >= 0) & (values != 0)
    rows = np.repeat(np.arange(stop - first), np.diff(pointers))[used]
    return Rows(
        np.bincount(rows, minlength=stop - first),
        places[used],
        values[used].astype(np.float32) if values.dtype.kind == "b" else values[used],
        checked_phase(phase),
    )
