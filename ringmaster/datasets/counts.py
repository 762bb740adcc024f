"""Counts of features as users give them, made into rows of a sparse matrix."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[Any]
#: What is done with a feature that is the weight of no parameter.
Unnamed = Literal["refuse", "ignore"]
#: The name that a position's phase has beside its features.
PHASE = "phase"
_MOST_NAMED = 5


class CountsError(Exception):
    """What is wrong with the counts of one position; whoever knows its place says where."""


class Rows(NamedTuple):
    """Some rows of a sparse matrix: `lengths` (k,), the rest of all of them in a row; phase
    (k,) or None."""

    lengths: Numbers
    columns: Numbers
    values: Numbers
    phase: npt.NDArray[np.float32] | None


class Wanted:
    """Which features are wanted.

    names    in the order of the matrix
    phase    whether a phase is wanted, too
    unnamed  what is done with others
    """

    def __init__(self, names: Sequence[str], *, phase: bool, unnamed: Unnamed = "refuse") -> None:
        self.names, self.phase, self.unnamed = tuple(names), phase, unnamed
        self._place = {name: i for i, name in enumerate(names)}

    def columns_of(self, given: Sequence[str]) -> npt.NDArray[np.intp]:
        """Return the place of each given feature in the matrix, −1 where it is not wanted.

        Raises CountsError for one that is there twice, is missing, or belongs to no parameter.
        """
        twice = sorted({name for name in given if list(given).count(name) > 1})
        if twice:
            raise CountsError(f"there are two columns called {twice[0]!r}")
        missing = [name for name in self.names if name not in given]
        if missing:
            raise CountsError(
                f"there is no column for the parameters' {_named(missing)}; there are "
                f"{_named(given)}"
            )
        self._refuse([name for name in given if name not in self._place])
        return np.array([self._place.get(name, -1) for name in given], dtype=np.intp)

    def _refuse(self, others: Sequence[str]) -> None:
        if others and self.unnamed == "refuse":
            raise CountsError(
                f"no parameter is the weight of {_named(others)}; give a parameter for each, "
                'frozen=True where it is not to be tuned, or Linear(unnamed="ignore")'
            )

    def rows(self, results: Sequence[Any]) -> Rows:
        """Return what a function gave for positions as rows.

        results  of each a mapping from features to counts, or a sequence of counts in the
                 order of `names`; with the phase in the mapping, or as the last number; None:
                 nothing occurs

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
        found = np.array(values, dtype=np.float64)
        if not np.isfinite(found).all():
            raise CountsError("a count is not a finite number")
        return Rows(lengths, np.array(columns, dtype=np.intp), found, checked_phase(phase))

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
        wanted = len(self.names) + self.phase
        try:
            counts = [float(v) for v in result]
        except (TypeError, ValueError):
            raise CountsError(
                f"a mapping from features to counts is expected, or {wanted} numbers, not "
                f"{_short(result)}"
            ) from None
        if len(counts) != wanted:
            last = f', the last of them the "{PHASE}"' if self.phase else ""
            raise CountsError(
                f"there are {len(counts)} numbers, but {wanted} are expected{last}: counts of "
                f"{_named(self.names)}, in this order"
            )
        share = counts.pop() if self.phase else 0.0
        places = [i for i, v in enumerate(counts) if v]
        return places, [counts[i] for i in places], share


def dense_rows(counts: Numbers, columns: npt.NDArray[np.intp], phase: Numbers | None) -> Rows:
    """Return rows of a dense matrix, (k, given features).

    columns  the place of each in the matrix, −1 where it is not wanted

    Raises CountsError.
    """
    if counts.dtype.kind == "f" and not np.isfinite(counts).all():
        raise CountsError("a count is not a finite number")
    kept = np.flatnonzero(columns >= 0)
    kept = kept[np.argsort(columns[kept])]
    rows, places = np.nonzero(counts[:, kept])
    lengths = np.bincount(rows, minlength=len(counts))
    return Rows(lengths, columns[kept][places], counts[:, kept][rows, places], checked_phase(phase))


def checked_phase(phase: Numbers | None) -> npt.NDArray[np.float32] | None:
    """Return phases.  Raises CountsError where they are not within 0 and 1."""
    if phase is None:
        return None
    found = np.asarray(phase, dtype=np.float32)
    wrong = ~((found >= 0) & (found <= 1))
    if wrong.any():
        raise CountsError(
            f"the phase must be from 0 (endgame) to 1 (opening), not {found[wrong][0]:g}; divide "
            "it by what it is at the start of a game"
        )
    return found


def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function of the control file gives.  Raises CountsError."""
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: the file has no say in that
        raise CountsError(f"the function fails: {type(error).__name__}: {error}") from error


def as_number(text: str) -> float:
    """Return a number that stands in a file.  Raises CountsError."""
    try:
        found = float(text)
    except ValueError:
        raise CountsError(f"{_short(text)} is no number") from None
    if not math.isfinite(found):
        raise CountsError("a count is not a finite number")
    return found


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return shown + (f" and {more:,} more" if more > 0 else "") or "nothing"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
