"""Read files of labelled positions into columns, with legal positions and consistent labels only.

Labels are converted to the first player's side.  Texts go to a file on disk; numbers stay in
memory, about 40 bytes a position.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ringmaster.datasets.boards import Boards, Mask, chess_boards, shogi_boards, text_key
from ringmaster.datasets.position_settings import PositionSettings
from ringmaster.formats.registry import Format, Pov, format_of
from ringmaster.formats.source import Batch, Progress, Source, quoted
from ringmaster.games.legality import InCheck, legality_check
from ringmaster.model.players import GameName

_QUANTITIES = ("result", "score", "material")
#: Correlations within this many standard errors of 0 count as 0.
_ERRORS = 5.0
#: Least |correlation| of each side to move where the two signs differ.
_SPLIT = 0.1
#: Least negative correlation where both signs are negative.  A player may win with less
#: material, but scores do not contradict results.
_REVERSED = {"material": 0.3, "score": 0.1}
#: Limits of scores and of material: a mate tells no more than a queen.
_SCORE, _MATERIAL = 1500.0, 15.0

Array = npt.NDArray[np.float32]


@dataclass
class Labels:
    """Correlations of results, scores and material of one file, by side to move.

    All quantities are the first player's, by the points of view of the settings.
    """

    sums: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros((2, 3, 6)))

    def add(
        self, result: Array, score: Array, material: Array, side: npt.NDArray[np.uint8]
    ) -> None:
        """Add positions; NaN is an unknown label."""
        columns = (
            result,
            np.clip(score, -_SCORE, _SCORE),
            np.clip(material, -_MATERIAL, _MATERIAL),
        )
        for mover in (0, 1):
            chosen = side == mover
            for i, (a, b) in enumerate(combinations(range(3), 2)):
                x, y = columns[a][chosen].astype(np.float64), columns[b][chosen].astype(np.float64)
                known = ~(np.isnan(x) | np.isnan(y))
                x, y = x[known], y[known]
                self.sums[mover, i] += (len(x), x.sum(), y.sum(), x @ x, y @ y, x @ y)

    def reversed(self, a: str, b: str) -> tuple[bool, bool]:
        """Return for each side to move whether two quantities contradict each other.

        a, b  names in the order of `_QUANTITIES`
        """
        i = list(combinations(_QUANTITIES, 2)).index((a, b))
        first, second = (_correlation(*self.sums[mover, i].tolist()) for mover in (0, 1))
        if first * second < 0 and min(abs(first), abs(second)) > _SPLIT:
            return first < 0, second < 0
        if max(first, second) <= 0 and min(first, second) < -_REVERSED[b]:
            return first < 0, second < 0
        return False, False


def _correlation(n: float, x: float, y: float, xx: float, yy: float, xy: float) -> float:
    """Return a correlation from sums, 0 where it is not significant."""
    if n < 3:
        return 0.0
    spread = (xx - x * x / n) * (yy - y * y / n)
    if spread <= 0:
        return 0.0
    r = (xy - x * y / n) / math.sqrt(spread)
    return r if abs(r) * math.sqrt(n) > _ERRORS else 0.0


def contradiction(
    labels: Labels, sides: tuple[str, str], result: Pov, score: Pov
) -> tuple[str, str]:
    """Return a fault of the labels' points of view and the wrong setting, or two "".

    sides          names of the players, e.g. ("White", "Black")
    result, score  assumed points of view
    """
    for what, against, pov in (
        ("score", "material", score),
        ("result", "material", result),
        ("score", "result", score),
    ):
        wrong = labels.reversed(*sorted((what, against), key=_QUANTITIES.index))
        if any(wrong):
            other = "the results" if against == "result" else "the men on the board"
            return _sentence(what, other, wrong, sides, pov), f"{what}_pov"
    return "", ""


def _sentence(
    what: str, against: str, wrong: tuple[bool, bool], sides: tuple[str, str], pov: Pov
) -> str:
    where = "" if all(wrong) else f" with {sides[wrong.index(True)]} to move"
    first = sides[0].lower()
    names = {"first": first, "mover": "mover"}
    meant = {"first": f"{sides[0]}'s", "mover": "the mover's"}
    other: Pov = "mover" if pov == "first" else "first"
    text = f"read as {meant[pov]}, the {what}s of positions{where} contradict {against}"
    # a mistaken point of view changes the sign for the second player's positions only
    if wrong == (False, True):
        better = f'{what}_pov="{names[other]}", if they are {meant[other]}'
    else:
        better = "look at how the file was made"
    return f'{text}; {better}; {what}_pov="{names[pov]}" keeps them unchanged'


#: The rules of chess variants check the first positions of a file, and then one in so many.
_FIRST, _EVERY = 200, 1000

_DTYPES: dict[str, Any] = {
    "result": np.float32,
    "teacher": np.float32,
    "ply": np.int32,
    "length": np.int32,
    "run": np.uint32,
    "game": np.uint64,
    "key": np.uint64,
    "size": np.uint16,
}


#: Squares on which consecutive positions of one game may differ: those of four moves.
_FEW = 8
#: The previous position: ply, result, game and squares.
_Previous = tuple[int, float, int, npt.NDArray[np.uint8] | None]
_NONE: _Previous = (-1, -1.0, 0, None)


@dataclass
class Columns:
    """Columns of numbers, one entry for each position."""

    _parts: dict[str, list[npt.NDArray[Any]]] = field(
        default_factory=lambda: {name: [] for name in _DTYPES}
    )
    count: int = 0

    def add(self, **columns: npt.NDArray[Any]) -> None:
        """Append positions; all columns are required."""
        for name, dtype in _DTYPES.items():
            self._parts[name].append(columns[name].astype(dtype))
        self.count += len(columns["key"])

    def pop(self, name: str) -> npt.NDArray[Any]:
        """Return a whole column and free its memory."""
        parts = self._parts.pop(name)
        return np.concatenate(parts) if parts else np.zeros(0, dtype=_DTYPES[name])


@dataclass
class IngestedFile:
    """One file after reading.

    first, stop  numbers of its positions
    runs         number of games, by the plies
    read         number of positions before the filters
    last_ply     the largest ply
    """

    path: str
    format: str
    first: int
    stop: int
    runs: int
    read: int
    last_ply: int


class Ingest:
    """Reads files into `columns`, and the texts of positions into the file `texts`."""

    def __init__(
        self,
        game: GameName,
        variant: str,
        settings: PositionSettings,
        texts: IO[bytes],
        progress: Progress,
    ) -> None:
        self.game: GameName = game
        self.variant = variant
        self.settings = settings
        self.texts = texts
        self.progress = progress
        self.columns = Columns()
        self.dropped: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.warnings: list[str] = []
        self.files: list[IngestedFile] = []
        self._runs = 0
        self._previous: _Previous = _NONE

    def read(self, path: str) -> None:
        """Read a file.  Raises DataFileError."""
        source = Source(path, self.game, self.variant, skip_bad=self.settings.skip_bad)
        format = format_of(source, self.settings.format)
        labels = Labels()
        read, runs, first, last_ply = 0, self._runs, self.columns.count, -1
        self._previous = _NONE
        for batch, boards, side, in_check in checked_batches(source, format, self.settings):
            if boards is not None:
                labels.add(batch.result, batch.teacher, boards.material(), side)
            if len(batch):
                last_ply = max(last_ply, int(batch.ply.max()))
            self._add(batch, boards, in_check)
            read += len(batch)
            self.progress.report(f"{path}: {read:,} positions read")
        self.skipped += source.counts
        if source.first_bad:
            self.warnings.append(f"the first bad position: {source.first_bad}")
        if not read:
            omitted = ", ".join(f"{n:,} {what}" for what, n in source.counts.items())
            omitted = f" ({omitted} left out)" if omitted else ""
            raise source.error(None, f"there is no position in it{omitted}")
        self._check_povs(source, format, labels)
        stop = self.columns.count
        self.files.append(
            IngestedFile(path, format.name, first, stop, self._runs - runs, read, last_ply)
        )

    def _check_povs(self, source: Source, format: Format, labels: Labels) -> None:
        """Raise DataFileError for wrong points of view, or warn where the settings name them."""
        result, score = povs(format, self.settings)
        sides = ("Black", "White") if self.game == "shogi" else ("White", "Black")
        text, setting = contradiction(labels, sides, result, score)
        if not text:
            return
        if getattr(self.settings, setting) is None:
            raise source.error(None, text)
        self.warnings.append(f"{os.path.basename(source.path)}: {text}")

    def _add(self, batch: Batch, boards: Boards | None, in_check: Mask) -> None:
        n = len(batch)
        if not n:
            return
        runs = self._game_numbers(batch, boards)
        keep = np.ones(n, dtype=np.bool_)
        if boards is None:
            keys = np.array([text_key(text, self.game) for text in batch.texts], dtype=np.uint64)
        else:
            keys = boards.keys()
            if not self.settings.in_check:
                keep &= self._filter("in check", ~in_check, keep)
        if self.settings.score_cap is not None:
            low = ~(np.abs(batch.teacher) > self.settings.score_cap)
            keep &= self._filter("score beyond the cap", low, keep)
        texts = batch.texts
        if not keep.all():
            texts = [texts[i] for i in np.flatnonzero(keep).tolist()]
        self.texts.write(b"".join(texts))
        self.columns.add(
            result=batch.result[keep],
            teacher=batch.teacher[keep],
            ply=batch.ply[keep],
            length=batch.length[keep],
            run=runs[keep],
            game=batch.game[keep],
            key=keys[keep],
            size=np.fromiter(map(len, texts), dtype=np.uint16, count=len(texts)),
        )

    def _filter(self, what: str, good: Mask, before: Mask) -> Mask:
        """Return `good`, and count its new omissions."""
        lost = int(np.count_nonzero(before & ~good))
        if lost:
            self.dropped[what] += lost
        return good

    def _game_numbers(self, batch: Batch, boards: Boards | None) -> npt.NDArray[np.int64]:
        """Return the number of each position's game, derived from the order of positions.

        A new game begins where the ply does not rise, and at another result or name.  Without
        plies and names it begins where the board differs by more than a few moves.
        """
        ply, result, game, squares = self._previous
        before_ply = np.concatenate([[ply], batch.ply[:-1]])
        before_result = np.concatenate([np.array([result], np.float32), batch.result[:-1]])
        before_game = np.concatenate([np.array([game], dtype=np.uint64), batch.game[:-1]])
        unknown = np.isnan(batch.result) & np.isnan(before_result)
        same = (batch.result == before_result) | unknown
        same &= batch.game == before_game
        continues = (batch.ply > before_ply) & (before_ply >= 0)
        # without plies the name decides
        continues |= (batch.game != 0) & (batch.ply < 0)
        nameless = (batch.game == 0) & (batch.ply < 0)
        if boards is not None:
            if nameless.any():
                first = boards.squares[:1] if squares is None else squares
                before = np.concatenate([first, boards.squares[:-1]])
                changed = np.count_nonzero(boards.squares != before, axis=1)
                # fewer squares where all of few pieces may have moved
                few = np.minimum(np.count_nonzero(boards.squares, axis=1) // 2, _FEW)
                continues |= nameless & (changed <= few) & (before_result != _NONE[1])
            squares = boards.squares[-1:]
        runs = self._runs - 1 + np.cumsum(~(same & continues))
        self._runs = int(runs[-1]) + 1
        last = int(batch.ply[-1]), float(batch.result[-1]), int(batch.game[-1])
        self._previous = (*last, squares)
        return np.asarray(runs, dtype=np.int64)


def povs(format: Format, settings: PositionSettings) -> tuple[Pov, Pov]:
    """Return the points of view of results and scores."""
    return settings.result_pov or format.result, settings.score_pov or format.score


class CheckedBatch(NamedTuple):
    """Legal positions with labels of the first player's side.

    boards    None for a chess variant
    side      (n,), 1 with the second player to move
    in_check  (n,), always false for a chess variant
    """

    batch: Batch
    boards: Boards | None
    side: npt.NDArray[np.uint8]
    in_check: Mask


def checked_batches(
    source: Source, format: Format, settings: PositionSettings
) -> Iterator[CheckedBatch]:
    """Yield the legal positions of a file.

    Raises DataFileError for illegal positions, unless they are skipped.
    """
    result_pov, score_pov = povs(format, settings)
    is_variant = source.game == "chess" and source.variant not in ("standard", "chess960")
    check = legality_check(source.game, source.variant, verify_checks=settings.in_check)
    read = 0
    for batch in format.read(source):
        chosen: Sequence[int] = range(len(batch))
        # the rules of variants are slow: they check a sample
        if is_variant:
            chosen = [i for i in chosen if read + i < _FIRST or (read + i) % _EVERY == 0]
        read += len(batch)
        batch, in_check = _legal(source, batch, chosen, check)
        if not len(batch):
            continue
        boards = None
        if is_variant:
            in_check[:] = False
            black = [text.split(b" ", 2)[1] == b"b" for text in batch.texts]
            side = np.array(black, dtype=np.uint8)
        else:
            boards = (shogi_boards if source.game == "shogi" else chess_boards)(batch.texts)
            if boards is None:
                raise source.error(int(batch.place[0]), "a position near here cannot be read")
            side = boards.side
        second = side == 1
        if result_pov == "mover":
            batch.result = np.where(second, 1 - batch.result, batch.result)
        if score_pov == "mover":
            batch.teacher = np.where(second, -batch.teacher, batch.teacher)
        yield CheckedBatch(batch, boards, side, in_check)
    source.finish()


def _legal(
    source: Source, batch: Batch, chosen: Sequence[int], check: InCheck
) -> tuple[Batch, Mask]:
    """Return the batch without illegal positions, and the mask of checks.

    Raises DataFileError.
    """
    in_check = np.zeros(len(batch), dtype=np.bool_)
    bad = []
    for i in chosen:
        text = batch.texts[i]
        try:
            in_check[i] = check(text.decode())
        except ValueError as error:
            message = f"this is not a legal position: {error}: {quoted(text, 100)}"
            source.bad(int(batch.place[i]), message)
            bad.append(i)
    return (batch.without(set(bad)), np.delete(in_check, bad)) if bad else (batch, in_check)
