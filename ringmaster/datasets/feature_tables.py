"""Tables of features: CSV and NPZ files with a row for each position and the position's text
in it."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ringmaster.datasets.counts import (
    PHASE,
    CountsError,
    Rows,
    Wanted,
    as_number,
    checked_phase,
    dense_rows,
)
from ringmaster.datasets.source import Source
from ringmaster.errors import DatasetError

#: What the column with the positions may be called.
TEXTS = ("fen", "sfen", "epd", "position")
_CHUNK = 4096

#: Some positions with their rows.
Table = Iterator[tuple[list[bytes], Rows]]


def read_table(path: str, wanted: Wanted) -> Table:
    """Yield the rows of a table, some thousands at a time.

    Raises DatasetError with the number of the line or of the row.
    """
    stem = path.lower().removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz")
    if stem.endswith(".npz"):
        return _npz(path, wanted)
    if stem.endswith((".csv", ".tsv", ".txt")):
        return _csv(path, wanted)
    raise DatasetError(path, None, "a table of features is a .csv or a .npz file")


def _csv(path: str, wanted: Wanted) -> Table:
    # Source knows how files are unpacked; its game has no part in that
    with Source(path, "chess").open() as raw, io.TextIOWrapper(raw, "utf-8-sig") as file:
        start = file.readline()
        delimiter = max(",;\t", key=start.count)
        head = next(csv.reader([start], delimiter=delimiter), [])
        header = [name.strip() for name in head]
        text_at, phase_at, given = _split_header(path, header, wanted)
        try:
            columns = wanted.columns_of([header[i] for i in given])
        except CountsError as error:
            raise DatasetError(path, 1, str(error)) from None
        reader = csv.reader(file, delimiter=delimiter)
        lines: list[list[str]] = []
        numbers: list[int] = []
        try:
            for line in reader:
                if not line:
                    continue
                if len(line) != len(header):
                    raise DatasetError(
                        path,
                        reader.line_num + 1,
                        f"there are {len(line)} fields, but {len(header)} columns",
                    )
                lines.append(line)
                numbers.append(reader.line_num + 1)
                if len(lines) == _CHUNK:
                    yield _lines(path, lines, numbers, text_at, phase_at, given, columns)
                    lines, numbers = [], []
        except (csv.Error, UnicodeDecodeError, EOFError, OSError) as error:
            raise DatasetError(path, reader.line_num + 1, f"cannot be read: {error}") from None
        if lines:
            yield _lines(path, lines, numbers, text_at, phase_at, given, columns)


def _split_header(
    path: str, header: Sequence[str], wanted: Wanted
) -> tuple[int, int | None, list[int]]:
    """Return where the text, the phase and the features are."""
    texts = [i for i, name in enumerate(header) if name.lower() in TEXTS]
    if len(texts) != 1:
        found = "no column" if not texts else f"{len(texts)} columns"
        raise DatasetError(
            path, 1, f"{found} with the position; the first line must name one, as fen or sfen"
        )
    phases = [i for i, name in enumerate(header) if name.lower() == PHASE]
    if wanted.phase and len(phases) != 1:
        raise DatasetError(path, 1, f'a tapered evaluation needs a column "{PHASE}"')
    given = [i for i in range(len(header)) if i not in (*texts, *phases)]
    return texts[0], phases[0] if wanted.phase else None, given


def _lines(
    path: str,
    lines: list[list[str]],
    numbers: list[int],
    text_at: int,
    phase_at: int | None,
    given: list[int],
    columns: npt.NDArray[np.intp],
) -> tuple[list[bytes], Rows]:
    kept = [i for i, place in zip(given, columns.tolist(), strict=True) if place >= 0]
    places = columns[columns >= 0]
    more = [] if phase_at is None else [phase_at]
    try:
        numbers_of = np.array([[line[i] for i in (*kept, *more)] for line in lines])
        table = numbers_of.astype(np.float32).reshape(len(lines), len(kept) + len(more))
        phase = table[:, -1] if more else None
        counts = table[:, : len(kept)]
        return [line[text_at].strip().encode() for line in lines], dense_rows(counts, places, phase)
    except (ValueError, CountsError):
        pass
    for line, number in zip(lines, numbers, strict=True):
        try:
            counts = np.array([[as_number(line[i]) for i in kept]])
            share = np.array([as_number(line[i]) for i in more]) if more else None
            dense_rows(counts, places, share)
        except CountsError as error:
            raise DatasetError(path, number, str(error)) from None
    raise AssertionError("a wrong line was found, and then not")


def _npz(path: str, wanted: Wanted) -> Table:
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise DatasetError(path, None, f"cannot read the features: {error}") from None
    try:
        yield from _arrays(path, arrays, wanted)
    except CountsError as error:
        raise DatasetError(path, None, str(error)) from None


def _arrays(path: str, arrays: Mapping[str, Any], wanted: Wanted) -> Table:
    names = {name.lower(): name for name in arrays}
    text = next((arrays[names[name]] for name in TEXTS if name in names), None)
    if text is None or text.ndim != 1 or text.dtype.kind not in "US":
        raise CountsError('an array "fen" (or "sfen") with the positions as text is needed')
    if "names" not in arrays or arrays["names"].dtype.kind not in "US":
        raise CountsError('an array "names" with the names of the features is needed')
    given = (
        [str(name) for name in np.char.decode(arrays["names"], "utf-8")]
        if (arrays["names"].dtype.kind == "S")
        else [str(name) for name in arrays["names"]]
    )
    columns = wanted.columns_of(given)
    phase = arrays[PHASE] if wanted.phase and PHASE in arrays else None
    if wanted.phase and phase is None:
        raise CountsError(f'a tapered evaluation needs an array "{PHASE}"')
    count = len(text)
    if phase is not None and phase.shape != (count,):
        raise CountsError(f'"{PHASE}" has the shape {phase.shape}, not ({count},)')
    sparse = all(name in arrays for name in ("data", "indices", "indptr"))
    if sparse:
        _check_sparse(arrays, count, len(given))
    elif "features" not in arrays or arrays["features"].shape != (count, len(given)):
        raise CountsError(
            f'an array "features" of the shape ({count}, {len(given)}) is needed, or "data", '
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
    kept = (places >= 0) & (values != 0)
    of = np.repeat(np.arange(stop - first), np.diff(pointers))[kept]
    return Rows(
        np.bincount(of, minlength=stop - first),
        places[kept],
        values[kept].astype(np.float32) if values.dtype.kind == "b" else values[kept],
        checked_phase(phase),
    )
