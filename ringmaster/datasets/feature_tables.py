"""Read feature counts from CSV and NPZ files, and convert counts to rows of a sparse matrix.

Each row of a table holds a position's text beside its counts.
"""

from __future__ import annotations

import csv
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ringmaster.errors import DataFileError
from ringmaster.formats.source import Source

Numbers = npt.NDArray[Any]
#: Treatment of a feature without a parameter.
Unnamed = Literal["refuse", "ignore"]
#: Name of a position's phase beside its features.
PHASE = "phase"
_LISTED_NAMES = 5


class CountsError(Exception):
    """A fault of one position's counts; callers add the place."""


class Rows(NamedTuple):
    """Some rows of a matrix of counts.

    matrix  sparse by rows, (k, features)
    phase   (k,) or None
    """

    matrix: sparse.csr_array
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

    def places(self, header: Sequence[str]) -> list[int]:
        """Return for each feature its column in a table.

        Raises CountsError for repeated, missing and unknown features.
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
        self._refuse([name for name in header if name not in self._place])
        return [at[name] for name in self.names]

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
        indptr, places, values = [0], list[int](), list[float]()
        phase = np.zeros(len(results), dtype=np.float32) if self.phase else None
        for i, result in enumerate(results):
            if result is not None:
                read = self._mapping if isinstance(result, Mapping) else self._sequence
                counts, share = read(result)
                places += [place for place, _ in counts]
                values += [count for _, count in counts]
                if phase is not None:
                    phase[i] = share
            indptr.append(len(places))
        shape = (len(results), len(self.names))
        return checked(sparse.csr_array((np.array(values), places, indptr), shape=shape), phase)

    def _mapping(self, result: Mapping[Any, Any]) -> tuple[list[tuple[int, float]], float]:
        place = self._place
        try:
            counts = sorted((place[k], float(v)) for k, v in result.items() if k in place)
            if len(counts) < len(result):
                self._refuse([str(k) for k in result if k not in place and k != PHASE])
            return counts, float(result[PHASE]) if self.phase else 0.0
        except KeyError:
            raise CountsError(f'there is no "{PHASE}", which a tapered evaluation needs') from None
        except (TypeError, ValueError):
            raise CountsError(f"not every count is a number: {_short(result)}") from None

    def _sequence(self, result: Any) -> tuple[list[tuple[int, float]], float]:
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
        return list(enumerate(counts)), share


def checked(matrix: sparse.csr_array, phase: Numbers | None) -> Rows:
    """Return rows.  Raises CountsError for infinite counts, and for a phase outside 0 to 1."""
    if not np.isfinite(matrix.data).all():
        raise CountsError("a count is not a finite number")
    matrix.eliminate_zeros()
    if phase is None:
        return Rows(matrix, None)
    phases = np.asarray(phase, dtype=np.float32)
    wrong = ~((phases >= 0) & (phases <= 1))
    if wrong.any():
        raise CountsError(
            f"the phase must be from 0 (endgame) to 1 (opening), not {phases[wrong][0]:g}; divide "
            "it by its value at the start of a game"
        )
    return Rows(matrix, phases)


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of the control file.  Raises CountsError for any exception."""
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a control file must not end the program by SystemExit
        raise CountsError(f"the function fails: {type(error).__name__}: {error}") from error


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
    # the source decompresses; its game does not matter here
    source = Source(path, "chess")
    if path.lower().endswith(".npz"):
        return _npz(path, wanted)
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
    phases = [i for i, name in enumerate(header) if name.lower() == PHASE]
    if wanted.phase and len(phases) != 1:
        raise source.error(1, f'a tapered evaluation needs a column "{PHASE}"')
    features = [i for i in range(len(header)) if i not in (*texts, *phases)]
    try:
        used = [features[place] for place in wanted.places([header[i] for i in features])]
    except CountsError as error:
        raise source.error(1, str(error)) from None
    if wanted.phase:
        used.append(phases[0])
    reader = csv.reader(lines, delimiter=delimiter)
    rows: list[tuple[int, list[str]]] = []
    try:
        for row in reader:
            if row and len(row) != len(header):
                raise source.error(
                    reader.line_num + 1, f"there are {len(row)} fields, but {len(header)} columns"
                )
            if row:
                rows.append((reader.line_num + 1, row))
            if len(rows) == _CHUNK:
                yield _of_csv(source, rows, texts[0], used, wanted)
                rows = []
    except csv.Error as error:
        raise source.error(reader.line_num + 1, f"cannot be read: {error}") from None
    if rows:
        yield _of_csv(source, rows, texts[0], used, wanted)


def _of_csv(
    source: Source, rows: list[tuple[int, list[str]]], text_at: int, used: list[int], wanted: Wanted
) -> tuple[list[bytes], Rows]:
    """Return some lines of a CSV file with their numbers; the last of `used` may be the phase."""
    try:
        table = np.array([[row[i] for i in used] for _, row in rows], dtype=np.float32)
        phase = table[:, -1] if wanted.phase else None
        matrix = sparse.csr_array(table[:, : len(wanted.names)])
        return [row[text_at].strip().encode() for _, row in rows], checked(matrix, phase)
    except (ValueError, CountsError) as error:
        if len(rows) == 1:
            number, row = rows[0]
            wrong = [row[i] for i in used if not _is_number(row[i])]
            fault = f"{_short(wrong[0])} is not a number" if wrong else str(error)
            raise source.error(number, fault) from None
    for numbered in rows:
        _of_csv(source, [numbered], text_at, used, wanted)
    raise AssertionError("every line is right, but not all lines together")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _npz(path: str, wanted: Wanted) -> Table:
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
        # zipfile raises RuntimeError for encryption, and for compression that it lacks
        raise DataFileError(path, None, f"cannot read the features: {error}") from None
    try:
        yield from _arrays(arrays, wanted)
    except CountsError as error:
        raise DataFileError(path, None, str(error)) from None


def _arrays(arrays: Mapping[str, Any], wanted: Wanted) -> Table:
    lower = {name.lower(): name for name in arrays}
    text = next((arrays[lower[name]] for name in TEXTS if name in lower), None)
    if text is None or text.ndim != 1 or text.dtype.kind not in "US":
        raise CountsError('an array "fen" (or "sfen") with the positions as text is needed')
    if "names" not in arrays or arrays["names"].dtype.kind not in "US":
        raise CountsError('an array "names" with the names of the features is needed')
    features = [n.decode() if isinstance(n, bytes) else n for n in arrays["names"].tolist()]
    places = wanted.places(features)
    phase = arrays.get(PHASE) if wanted.phase else None
    if wanted.phase and phase is None:
        raise CountsError(f'a tapered evaluation needs an array "{PHASE}"')
    count = len(text)
    if phase is not None and phase.shape != (count,):
        raise CountsError(f'"{PHASE}" has the shape {phase.shape}, not ({count},)')
    matrix = _matrix(arrays, (count, len(features)))
    for first in range(0, count, _CHUNK):
        part = slice(first, first + _CHUNK)
        raw = text[part].tolist()
        texts = [t.strip() if isinstance(t, bytes) else t.strip().encode() for t in raw]
        rows = sparse.csr_array(matrix[part])[:, places]
        yield texts, checked(rows, None if phase is None else phase[part])


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
