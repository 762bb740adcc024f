"""Read files of labelled positions: legal positions with consistent labels.

Labels are converted to the first player's side.  Positions go to temporary files; memory grows
by a few bytes a game.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ringmaster.datasets.boards import Mask, Squares, Words, boards_of, mixed, text_key
from ringmaster.datasets.labels import Correlations, Floats, contradiction
from ringmaster.datasets.position_settings import PositionSettings
from ringmaster.datasets.spool import ROW, Spool
from ringmaster.errors import IllegalMove, counted, shown
from ringmaster.formats.registry import Format, Pov, format_of
from ringmaster.formats.source import Batch, Progress, Source, quoted
from ringmaster.games.game import beginning
from ringmaster.games.legality import InCheck, legality_check
from ringmaster.model.players import GameName
from ringmaster.model.randomness import SAMPLE_STREAM, word_array

#: The rules of chess variants check the first positions of a file, and then one in so many.
_FIRST, _EVERY = 200, 1000
_LARGEST = np.uint64(2**64 - 1)


class Examined(NamedTuple):
    """Positions with properties of their boards; labels are the first player's.

    side      (n,), 1 with the second player to move
    keys      (n,), equal for positions that differ in counters only
    material  (n,), the first player's lead in pawns, NaN for a chess variant
    squares   (n, squares), (n, 0) for a chess variant
    """

    batch: Batch
    side: Squares
    keys: Words
    material: Floats
    squares: Squares


def examined(batch: Batch, game: GameName, variant: str = "standard") -> Examined:
    """Return legal positions with properties of their boards."""
    if game == "chess" and variant not in ("standard", "chess960"):
        side = np.array([text.split(b" ", 2)[1] == b"b" for text in batch.texts], dtype=np.uint8)
        keys = np.array([text_key(text, game) for text in batch.texts], dtype=np.uint64)
        material = np.full(len(side), np.nan, dtype=np.float32)
        return Examined(batch, side, keys, material, np.zeros((len(side), 0), dtype=np.uint8))
    boards = boards_of(batch.texts, game)
    assert boards is not None, "the positions are legal"
    return Examined(batch, boards.side, boards.keys(), boards.material(), boards.squares)


def povs(format: Format, settings: PositionSettings) -> tuple[Pov, Pov]:
    """Return the points of view of results and scores."""
    return settings.result_pov or format.result, settings.score_pov or format.score


def checked_batches(
    source: Source, format: Format, settings: PositionSettings
) -> Iterator[tuple[Examined, Mask]]:
    """Yield the legal positions of a file, and masks of checks (never set for variants).

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
        if is_variant:
            in_check[:] = False
        positions = examined(batch, source.game, source.variant)
        second = positions.side == 1
        if result_pov == "mover":
            batch.result = np.where(second, 1 - batch.result, batch.result)
        if score_pov == "mover":
            batch.teacher = np.where(second, -batch.teacher, batch.teacher)
        yield positions, in_check
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


class Smallest:
    """Collects the smallest of many random words, in 24 bytes for each of them.

    limit  upper bound of these words
    """

    def __init__(self, most: int | None) -> None:
        """Begin without words.

        most  number of different words to collect, None for no collection
        """
        self.most = most
        self.limit = _LARGEST
        self._pending: list[Words] = []
        self._waiting = 0

    def add(self, words: Words) -> None:
        if self.most is not None:
            self._pending.append(words[words <= self.limit])
            self._waiting += len(self._pending[-1])
            if self._waiting > 2 * self.most + (1 << 16):
                self.finish()

    def finish(self) -> None:
        """Lower `limit` to the largest word of the collection."""
        distinct = np.unique(np.concatenate([np.zeros(0, dtype=np.uint64), *self._pending]))
        if self.most is not None and len(distinct) > self.most:
            self.limit = distinct[self.most - 1]
            distinct = distinct[: self.most]
        self._pending, self._waiting = [distinct], len(distinct)

    def count(self) -> tuple[int, bool]:
        """Return the number of different words, and whether it is exact.

        Above `most` it is estimated; the standard error is 1/sqrt(most).  Source: Bar-Yossef et
        al., "Counting distinct elements in a data stream", 2002.
        """
        self.finish()
        if self.limit == _LARGEST:
            return self._waiting, True
        return round((self._waiting - 1) * 2**64 / int(self.limit)), False


class Draw(Smallest):
    """Draws positions while they are read: those with the smallest random words.

    Equal positions have the same word where they will be merged.

    seen  number of positions so far
    """

    def __init__(self, settings: PositionSettings, seed: int) -> None:
        super().__init__(settings.most)
        self._merging = settings.duplicates == "merge"
        self._salt = word_array(seed, SAMPLE_STREAM, 0, 1)
        self.seen = 0

    def words(self, keys: Words) -> Words:
        """Return the words of the next positions."""
        numbers = np.arange(self.seen, self.seen + len(keys), dtype=np.uint64)
        self.seen += len(keys)
        words = mixed((keys if self._merging else numbers) ^ self._salt)
        self.add(words)
        return words

    def notes(self) -> list[str]:
        """Return a note for a draw from more positions."""
        if self.limit == _LARGEST:
            return []
        which = "different positions" if self._merging else "positions"
        return [f"{self.most:,} {which} drawn of {self.seen:,}"]


#: Least positions of a game for which the last one marks the game's end.
_WHOLE = 4
#: Least mean number of positions with the same name, if the names are those of games.
_NAMED = 1.5
#: A mean run of one game's positions below this may be chance: the file may be shuffled.
_SHUFFLED = 2.5
#: Limit of plies that are remembered.
_LONGEST = 32767
#: Squares on which consecutive positions of one game may differ: those of four moves.
_FEW = 8


#: A part of a run: its number, number of positions, last ply, and name, 0 for none.
_PART = np.dtype([("run", "<u4"), ("size", "<u4"), ("ply", "<i2"), ("name", "<u8")])


class Runs:
    """Runs of positions that follow each other in one game, by the order of a file.

    A new run begins where the ply does not rise, and at another result or name.  Without plies
    and names it begins where the board differs by more than a few moves.
    """

    def __init__(self) -> None:
        #: The columns of the previous position.
        self._last: list[npt.NDArray[Any]] = []
        self.count = 0
        self._parts: list[npt.NDArray[np.void]] = []

    def numbers(self, positions: Examined) -> npt.NDArray[np.int64]:
        """Return the number of each position's run, from 0."""
        batch, squares = positions.batch, positions.squares
        ply, result, game = batch.ply, batch.result, batch.game
        columns: tuple[npt.NDArray[Any], ...] = (ply, result, game, squares)
        last = self._last or [column[:1] for column in columns]
        self._last = [column[-1:] for column in columns]
        before_ply, before_result, before_game, before = (
            np.concatenate([column, rows[:-1]]) for column, rows in zip(last, columns, strict=True)
        )
        same = (result == before_result) | (np.isnan(result) & np.isnan(before_result))
        same &= game == before_game
        continues = (ply > before_ply) & (before_ply >= 0)
        # without plies the name decides
        continues |= (game != 0) & (ply < 0)
        nameless = (game == 0) & (ply < 0)
        if nameless.any() and squares.size:
            changed = np.count_nonzero(squares != before, axis=1)
            # fewer squares where all of few pieces may have moved
            few = np.minimum(np.count_nonzero(squares, axis=1) // 2, _FEW)
            continues |= nameless & (changed <= few)
        begins = ~(same & continues)
        begins[0] |= self.count == 0
        numbers = self.count - 1 + np.cumsum(begins)
        self.count = int(numbers[-1]) + 1
        begins[0] = True
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], len(batch)) - 1
        part = np.empty(len(ends), dtype=_PART)
        part["run"], part["size"] = numbers[ends], ends - starts + 1
        part["ply"], part["name"] = np.minimum(ply[ends], _LONGEST), game[ends]
        self._parts.append(part)
        return numbers

    def games(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int16], bool]:
        """Return the game of each run, the last ply of each game, and whether names decided.

        The last ply is 0 where it is unknown.  Repeated names identify games; otherwise each
        run is a game.
        """
        parts = np.concatenate(self._parts)
        games = np.arange(self.count, dtype=np.uint32)
        names = np.zeros(self.count, dtype=np.uint64)
        names[parts["run"]] = parts["name"]
        is_named = names != 0
        distinct, which = np.unique(names[is_named], return_inverse=True)
        named = int(parts["size"][parts["name"] != 0].sum())
        # unique names are of positions, not of games
        has_names = 0 < _NAMED * len(distinct) <= named
        if has_names:
            games[is_named] = which
            games[~is_named] = len(distinct) + np.arange(np.count_nonzero(~is_named))
        of_parts = games[parts["run"]]
        sizes = np.bincount(of_parts, parts["size"])
        ends = np.zeros(len(sizes), dtype=np.int16)
        np.maximum.at(ends, of_parts, parts["ply"])
        ends[sizes < _WHOLE] = 0
        return games, ends, has_names


class Ingest:
    """Reads files into a spool."""

    def __init__(
        self, game: GameName, variant: str, spool: Spool, seed: int, progress: Progress
    ) -> None:
        self._game: GameName = game
        self._variant = variant
        self._spool, self._seed, self._progress = spool, seed, progress
        self._games: list[npt.NDArray[np.uint32]] = []
        self._ends: list[npt.NDArray[np.int16]] = []
        self._draws: list[tuple[Draw, slice]] = []
        self._dropped: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()
        self._warnings: list[str] = []
        self._files: list[str] = []
        self._read = 0

    def read(self, settings: PositionSettings) -> None:
        """Read the files of some settings.  Raises DataFileError."""
        first = self._spool.count
        draw = Draw(settings, self._seed)
        for path in settings.paths:
            self._read_file(path, settings, draw)
        draw.finish()
        self._draws.append((draw, slice(first, self._spool.count)))

    def _read_file(self, path: str, settings: PositionSettings, draw: Draw) -> None:
        source = settings.source(path, self._game, self._variant)
        format = format_of(source, settings.format)
        labels, runs, read = Correlations(), Runs(), 0
        before = sum(map(len, self._games))
        #: Whether the move numbers of the first positions, hence of all, are defaults.
        has_defaults: bool | None = None
        for positions, in_check in checked_batches(source, format, settings):
            batch = positions.batch
            if settings.moves and not batch.moves:
                use = "use .plain, .psv or .hcpe files, or records of games"
                raise source.error(None, f"the format {format.name!r} has no moves; {use}")
            labels.add(batch.result, batch.teacher, positions.material, positions.side)
            if has_defaults is None:
                has_defaults = int(batch.ply.max()) <= 1
            if has_defaults:
                batch.ply[:] = -1
            numbers = before + runs.numbers(positions)
            self._add(source, positions, numbers, self._kept(positions, in_check, settings), draw)
            read += len(batch)
            self._progress.report(f"{path}: {read:,} positions read")
        self._skipped += source.counts
        self._warnings += source.notes
        if source.first_bad:
            self._warnings.append(f"the first bad position: {source.first_bad}")
        if not read:
            omitted = ", ".join(f"{n:,} {what}" for what, n in source.counts.items())
            omitted = f" ({omitted} left out)" if omitted else ""
            raise source.error(None, f"there is no position in it{omitted}")
        if not settings.moves:
            text, setting = contradiction(labels, self._game, *povs(format, settings))
            if setting and getattr(settings, setting) is None:
                raise source.error(None, text)
            # the settings name a doubtful point of view
            self._warnings += [f"{os.path.basename(path)}: {text}"] if text else []
        games, ends, has_names = runs.games()
        self._games.append(games + np.uint32(sum(map(len, self._ends))))
        self._ends.append(ends)
        self._read += read
        self._files.append(f"{os.path.basename(path)} ({format.name})")
        if not has_names:
            self._warnings += _doubts(os.path.basename(path), read, runs.count)

    def _kept(self, positions: Examined, in_check: Mask, settings: PositionSettings) -> Mask:
        """Return the mask of positions that pass the filters, and count the others."""
        batch = positions.batch
        keep = np.ones(len(batch), dtype=np.bool_)
        filters: dict[str, Mask] = {}
        if not settings.in_check:
            filters["in check"] = in_check
        if settings.score_cap is not None:
            filters["score beyond the cap"] = np.abs(batch.teacher) > settings.score_cap
        if settings.first_ply:
            early = (batch.ply >= 0) & (batch.ply < settings.first_ply)
            filters[f"before ply {settings.first_ply}"] = early
            without = "first_ply has no effect on positions whose ply is not known"
            if (batch.ply < 0).any() and without not in self._warnings:
                self._warnings.append(without)
        if settings.moves:
            filters["without a move"] = np.array([not move for move in batch.moves])
        for what, bad in filters.items():
            if lost := int(np.count_nonzero(keep & bad)):
                self._dropped[what] += lost
            keep &= ~bad
        return keep

    def _add(
        self,
        source: Source,
        positions: Examined,
        runs: npt.NDArray[np.int64],
        keep: Mask,
        draw: Draw,
    ) -> None:
        """Add the positions to the spool that pass the filters and may be drawn."""
        at = np.flatnonzero(keep)
        words = draw.words(positions.keys[at])
        drawn = words <= draw.limit
        at, words = at[drawn], words[drawn]
        batch = positions.batch
        if source.moves:
            legal = self._with_legal_moves(source, batch, at)
            at, words = at[legal], words[legal]
        rows = np.empty(len(at), dtype=ROW)
        rows["key"], rows["word"], rows["weight"] = positions.keys[at], words, 1
        rows["result"], rows["teacher"] = batch.result[at], batch.teacher[at]
        rows["ply"], rows["length"], rows["run"] = batch.ply[at], batch.length[at], runs[at]
        texts = [batch.texts[i] for i in at.tolist()]
        if source.moves:
            moves = [batch.moves[i].encode() for i in at.tolist()]
            texts = [b"%b %b" % pair for pair in zip(texts, moves, strict=True)]
        self._spool.add(texts, rows)

    def _with_legal_moves(self, source: Source, batch: Batch, chosen: npt.NDArray[np.intp]) -> Mask:
        """Return the mask of chosen positions with legal moves.  Raises DataFileError."""
        begin = beginning(self._game, variant=self._variant)
        legal = np.ones(len(chosen), dtype=np.bool_)
        for i, at in enumerate(chosen.tolist()):
            text, move = batch.texts[at].decode(), batch.moves[at]
            try:
                begin(text).play(move)
            except (ValueError, IllegalMove) as error:
                message = f"position {shown(text)}, move {shown(move)}: {error}"
                source.bad(int(batch.place[at]), message)
                legal[i] = False
        return legal

    def draw(self) -> None:
        """Leave positions that are not drawn out of the set."""
        for draw, part in self._draws:
            rows = self._spool.rows[part]
            rows["weight"][rows["word"] > draw.limit] = 0

    def number_games(self) -> npt.NDArray[np.int16]:
        """Replace runs by games in the spool; return the last ply of each game, 0 unknown."""
        games = np.concatenate(self._games)
        for rows in self._spool.blocks():
            rows["run"] = games[rows["run"]]
        return np.concatenate(self._ends)

    def notes(self) -> list[str]:
        """Return the sentences about files, omitted positions and draws."""
        more = len(self._files) - _LISTED_FILES
        names = ", ".join(self._files[:_LISTED_FILES])
        names += f" and {more} more files" if more > 0 else ""
        notes = [f"{counted(self._read, 'position')} read from {names}"]
        # the first plural is that of the counted things: "positions of unfinished games"
        skipped = {
            re.sub(r"s\b", "", w, count=1) if n == 1 else w: n for w, n in self._skipped.items()
        }
        notes += [f"left out: {n:,} {what}" for what, n in skipped.items()]
        notes += [
            f"left out: {counted(n, 'position')}, {what}" for what, n in self._dropped.items()
        ]
        for draw, _ in self._draws:
            notes += draw.notes()
        return notes + self._warnings


_LISTED_FILES = 3


def _doubts(name: str, read: int, runs: int) -> list[str]:
    """Return notes on a file that may be shuffled."""
    if read == runs and read > 1:
        return [
            f"{name} does not tell which positions are of one game: each counts as a game of "
            "its own"
        ]
    if read < _SHUFFLED * runs and read > 1:
        return [
            f"{name} has {read / runs:.1f} positions in a row that may be of one game: if it is "
            "shuffled, the split is not by game"
        ]
    return []
