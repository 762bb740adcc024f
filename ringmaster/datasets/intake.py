"""From files to columns: every position checked, its labels turned to the first player's
side, what the filters drop left out and counted.

Texts go to a file on the disk, numbers stay in memory, some 40 bytes a position.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ringmaster.datasets.batch import Batch
from ringmaster.datasets.boards import Boards, Mask, chess_boards, shogi_boards
from ringmaster.datasets.formats import Format, format_of
from ringmaster.datasets.labels import quoted
from ringmaster.datasets.sanity import Labels, contradiction
from ringmaster.datasets.settings import PositionSettings, Pov
from ringmaster.datasets.source import Source
from ringmaster.games.start import beginning
from ringmaster.model.players import GameName

#: Positions at the beginning of a file that the rules look at, and then one in so many.
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


#: Squares on which positions of one game differ that come after each other: four moves;
#: fewer where there are few pieces, all of which may have moved.
_FEW = 8
_Before = tuple[int, float, int, npt.NDArray[np.uint8] | None]
_NONE: _Before = (-1, -1.0, 0, None)


@dataclass
class Columns:
    """Numbers of positions, in pieces until they are wanted whole."""

    pieces: dict[str, list[npt.NDArray[Any]]] = field(
        default_factory=lambda: {name: [] for name in _DTYPES}
    )
    count: int = 0

    def add(self, **columns: npt.NDArray[Any]) -> None:
        """Take in positions; a column for each name."""
        for name, dtype in _DTYPES.items():
            self.pieces[name].append(columns[name].astype(dtype))
        self.count += len(columns["key"])

    def take(self, name: str) -> npt.NDArray[Any]:
        """Return a whole column, which is then no longer kept here."""
        pieces = self.pieces.pop(name)
        return np.concatenate(pieces) if pieces else np.zeros(0, dtype=_DTYPES[name])


@dataclass
class Taken:
    """One file that has been read.

    first, stop  its positions, by their numbers
    runs         games in it, as the plies tell them
    read         positions before the filters
    last_ply     the largest ply
    """

    path: str
    format: str
    first: int
    stop: int
    runs: int
    read: int
    last_ply: int


class Intake:
    """Takes in files; `texts` is a file for what was kept."""

    def __init__(
        self,
        game: GameName,
        variant: str,
        settings: PositionSettings,
        texts: IO[bytes],
        progress: Callable[[str, int], None],
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
        self.files: list[Taken] = []
        self._runs = 0
        #: The last position: ply, result, game and squares.
        self._before: _Before = _NONE

    def file(self, path: str) -> None:
        """Take in a file.  Raises DatasetError."""
        source = Source(path, self.game, self.variant, skip_bad=self.settings.skip_bad)
        found = format_of(source, self.settings.format)
        labels = Labels()
        read, runs, first, last_ply = 0, self._runs, self.columns.count, -1
        self._before = _NONE
        for batch, boards, side in checked_batches(source, found, self.settings):
            if boards is not None:
                labels.add(batch.result, batch.teacher, boards.material(), side)
            if len(batch):
                last_ply = max(last_ply, int(batch.ply.max()))
            self._batch(batch, boards, side)
            read += len(batch)
            self.progress(path, read)
        self.skipped += source.counts
        if source.first_bad:
            self.warnings.append(f"the first that was bad: {source.first_bad}")
        if not read:
            raise source.error(None, self._nothing(source))
        self._judge(source, found, labels)
        self.files.append(
            Taken(path, found.name, first, self.columns.count, self._runs - runs, read, last_ply)
        )

    def _nothing(self, source: Source) -> str:
        left = ", ".join(f"{n:,} {what}" for what, n in source.counts.items())
        return f"there is no position in it{f' ({left} left out)' if left else ''}"

    def _judge(self, source: Source, format: Format, labels: Labels) -> None:
        result, score = povs(format, self.settings)
        sides = ("Black", "White") if self.game == "shogi" else ("White", "Black")
        text, setting = contradiction(labels, sides, result, score)
        if not text:
            return
        if getattr(self.settings, setting) is None:
            raise source.error(None, text)
        self.warnings.append(f"{os.path.basename(source.path)}: {text}")

    def _batch(self, batch: Batch, boards: Boards | None, side: npt.NDArray[np.uint8]) -> None:
        n = len(batch)
        if not n:
            return
        runs = self._numbered(batch, boards)
        keep = np.ones(n, dtype=np.bool_)
        if boards is None:
            keys = np.array([_key_of(text) for text in batch.texts], dtype=np.uint64)
        else:
            keys = boards.keys()
            if not self.settings.in_check:
                keep &= self._passed("in check", ~boards.in_check(side), keep)
        if self.settings.score_cap is not None:
            low = ~(np.abs(batch.teacher) > self.settings.score_cap)
            keep &= self._passed("score beyond the cap", low, keep)
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

    def _passed(self, what: str, good: Mask, before: Mask) -> Mask:
        lost = int(np.count_nonzero(before & ~good))
        if lost:
            self.dropped[what] += lost
        return good

    def _numbered(self, batch: Batch, boards: Boards | None) -> npt.NDArray[np.int64]:
        """Return the number of the game of each position, as the order tells: a ply that
        does not rise, another result or another name begins a new one, where there is
        neither ply nor name a board that differs by more than some moves."""
        ply, result, game, squares = self._before
        before_ply = np.concatenate([[ply], batch.ply[:-1]])
        before_result = np.concatenate([np.array([result], np.float32), batch.result[:-1]])
        before_game = np.concatenate([np.array([game], dtype=np.uint64), batch.game[:-1]])
        unknown = np.isnan(batch.result) & np.isnan(before_result)
        same = (batch.result == before_result) | unknown
        same &= batch.game == before_game
        goes_on = (batch.ply > before_ply) & (before_ply >= 0)
        # a name alone tells a game, too
        goes_on |= (batch.game != 0) & (batch.ply < 0)
        nameless = (batch.game == 0) & (batch.ply < 0)
        if boards is not None:
            if nameless.any():
                first = boards.squares[:1] if squares is None else squares
                before = np.concatenate([first, boards.squares[:-1]])
                changed = np.count_nonzero(boards.squares != before, axis=1)
                few = np.minimum(np.count_nonzero(boards.squares, axis=1) // 2, _FEW)
                goes_on |= nameless & (changed <= few) & (before_result != _NONE[1])
            squares = boards.squares[-1:]
        runs = self._runs - 1 + np.cumsum(~(same & goes_on))
        self._runs = int(runs[-1]) + 1
        last = int(batch.ply[-1]), float(batch.result[-1]), int(batch.game[-1])
        self._before = (*last, squares)
        return np.asarray(runs, dtype=np.int64)


def _key_of(text: bytes) -> int:
    """Return 64 bits for a position of a variant: its text but the counters."""
    fields = text.split(b" ")
    return int.from_bytes(hashlib.blake2b(b" ".join(fields[:4]), digest_size=8).digest(), "little")


def povs(format: Format, settings: PositionSettings) -> tuple[Pov, Pov]:
    """Return whose side results and scores are taken to be told from."""
    return settings.result_pov or format.result, settings.score_pov or format.score


def checked_batches(
    source: Source, format: Format, settings: PositionSettings
) -> Iterator[tuple[Batch, Boards | None, npt.NDArray[np.uint8]]]:
    """Yield the positions of a file with labels of the first player's side, with their
    boards (None for variants of chess) and sides to move.

    Raises DatasetError for positions that are not legal, unless they are skipped.
    """
    result_pov, score_pov = povs(format, settings)
    judge = _Judge(source)
    for batch in format.read(source):
        if not len(batch):
            continue
        batch, boards = judge.legal(batch, in_check=settings.in_check)
        if not len(batch):
            continue
        if boards is not None:
            side = boards.side
        else:
            black = [text.split(b" ", 2)[1] == b"b" for text in batch.texts]
            side = np.array(black, dtype=np.uint8)
        turned = side == 1
        if result_pov == "mover":
            batch.result = np.where(turned, 1 - batch.result, batch.result)
        if score_pov == "mover":
            batch.teacher = np.where(turned, -batch.teacher, batch.teacher)
        yield batch, boards, side
    source.finish()


class _Judge:
    """Asks the rules of the game about positions of one file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.count = 0
        self._begin = beginning(source.game, variant=source.variant)

    def legal(self, batch: Batch, *, in_check: bool) -> tuple[Batch, Boards | None]:
        """Return the legal positions of a batch with their boards, None for a variant.

        in_check  whether positions in check are looked at by the rules

        Raises DatasetError.
        """
        asked = self._sample(len(batch))
        batch, boards = self._read(batch)
        if boards is not None and len(batch):
            suspects = boards.suspects()
            if in_check:
                suspects = suspects | boards.in_check(boards.side)
            asked |= set(np.flatnonzero(suspects).tolist())
        if bad := self._ask(batch, sorted(i for i in asked if i < len(batch))):
            return self._read(batch.without(bad))
        return batch, boards

    def _read(self, batch: Batch) -> tuple[Batch, Boards | None]:
        """Return the boards of a batch, and the batch without what is no position."""
        source = self.source
        if batch.board is not None or not len(batch):
            return batch, batch.board
        if source.game == "shogi":
            found = shogi_boards(batch.texts)
        elif source.variant in ("standard", "chess960"):
            found = chess_boards(batch.texts, source.variant == "chess960")
        else:
            return batch, None
        if found is None:
            bad = self._ask(batch, range(len(batch)))
            if not bad:
                raise source.error(int(batch.place[0]), "a position near here cannot be read")
            return self._read(batch.without(bad))
        return batch, found

    def _sample(self, count: int) -> set[int]:
        """Return which of the next positions are looked at, whatever they are."""
        first, stop = self.count, self.count + count
        self.count = stop
        chosen = [*range(first, min(stop, _FIRST))]
        chosen += range(max(-(-first // _EVERY) * _EVERY, _FIRST), stop, _EVERY)
        return {i - first for i in chosen}

    def _ask(self, batch: Batch, which: Sequence[int]) -> set[int]:
        """Return those that are not legal, which the source records.  Raises DatasetError."""
        bad = set()
        for i in which:
            text = batch.texts[i]
            try:
                self._begin(text.decode())
            except ValueError as error:
                message = f"this is not a legal position: {error}: {quoted(text, 100)}"
                self.source.bad(int(batch.place[i]), message)
                bad.add(i)
        return bad
