"""The game records of a competition, as one file of games or of their final positions: EPD with the
result (c9) and the game id for chess, SFEN for shogi."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ringmaster.errors import StoreError
from ringmaster.results import Game, Results
from ringmaster.storage.paths import OutputPaths

#: By suffix: the beginning of a record's first line, and the line with the game's id.  Engine text
#: in a record never begins a line like this.
_COLLECTED_FORMS: dict[str, tuple[bytes, re.Pattern[bytes]]] = {
    "pgn": (b"[Event ", re.compile(rb'\[GameId "(.*)"\]')),
    # the competition's code precedes the id
    "sgf": (b"(;FF[4]", re.compile(rb"GN\[(?:.* )?([^\] ]*)\]")),
    # a separator between records
    "csa": (b"/", re.compile(rb"'game (\S+)")),
    "kif": (b"#KIF ", re.compile(rb"\*game (\S+)")),
    "kifu": (b"#KIF ", re.compile(rb"\*game (\S+)")),
}


class CollectedRecords:
    """The game records of collected files by game id.

    The first access reads the files once and stores the places of the records.  The last record
    with an id counts.
    """

    def __init__(self, paths: dict[str, Path], tail: int | None = None) -> None:
        """Set the files.

        paths  the files by suffix, which may not exist
        tail   bytes at the end of each file that are read, None for all
        """
        self._paths = paths
        self._tail = tail
        self._places: dict[bytes, tuple[Path, int, int]] | None = None

    def existing(self) -> list[Path]:
        """Return the existing files."""
        return [path for path in self._paths.values() if path.exists()]

    def get(self, game_id: str) -> bytes | None:
        """Return a record, None for an unknown id.  Raises StoreError."""
        if self._places is None:
            self._places = {}
            for suffix, path in self._paths.items():
                self._places.update(_places(path, suffix, self._tail))
        place = self._places.get(game_id.encode())
        if place is None:
            return None
        path, start, size = place
        try:
            with path.open("rb") as file:
                return os.pread(file.fileno(), size, start)
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}") from error


def _places(path: Path, suffix: str, tail: int | None) -> dict[bytes, tuple[Path, int, int]]:
    try:
        with path.open("rb") as file:
            start = 0 if tail is None else max(0, os.fstat(file.fileno()).st_size - tail)
            places = _collected_places(file, suffix, start)
            return {id: (path, start, end - start) for id, start, end in places}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error


def _collected_places(
    file: BinaryIO, suffix: str, start: int = 0
) -> Iterator[tuple[bytes, int, int]]:
    """Yield the id, the beginning and the end of each record.

    start  where to begin; the first record may lack its beginning
    """
    first, names = _COLLECTED_FORMS[suffix]
    separated = suffix == "csa"
    id: bytes | None = None
    file.seek(start)
    at = start
    for line in file:
        after = at + len(line)
        if line.rstrip(b"\r\n") == first if separated else line.startswith(first):
            if id is not None:
                yield id, start, at
            id, start = None, after if separated else at
        elif (id is None or line.startswith(b"[GameId ")) and (match := names.match(line)):
            id = match[1]
        at = after
    if id is not None:
        yield id, start, at


#: What the files of the formats end in; a KIF file in UTF-8 is a .kifu.
_SUFFIXES = {"pgn": ("pgn",), "sgf": ("sgf",), "csa": ("csa", "kifu"), "kif": ("csa", "kifu")}


class Records:
    """The game records of results: in files, waiting in the store, or in collected files.

    suffixes  of the files
    """

    def __init__(self, results: Results, suffixes: tuple[str, ...]) -> None:
        paths = OutputPaths(results.path)
        self._results = results
        self._folder = results.path.with_suffix(".games")
        self._waiting = results.waiting_records()
        self._collected = CollectedRecords({suffix: paths.collected(suffix) for suffix in suffixes})
        self.games = 0
        self._missing = 0

    def each(self, void: bool) -> Iterator[tuple[Game, bytes]]:
        """Yield the games with their records, in the order of their ends.  Raises StoreError."""
        directory = self._results.path.absolute().parent
        for game in self._results.iter_games(void=void):
            record = _record(game, directory, self._waiting, self._collected)
            # a void game without moves has no record
            self.games += not game.is_void or record is not None
            if record is None:
                self._missing += not game.is_void
            elif text := record.removeprefix(b"\xef\xbb\xbf").rstrip():
                yield game, text

    def missing(self) -> list[str]:
        """Return a note on missing records."""
        if not self._missing:
            return []
        files = " or ".join([f"in {self._folder}", *map(str, self._collected.existing())])
        return [f"{self._missing} of {self.games} game records are not {files} and were left out"]


def write_records(results: Results, format: str, stream: BinaryIO, void: bool) -> list[str]:
    """Write the records unchanged, in the order of the games' ends; return notes on missing ones.

    PGN and KIF games have an empty line between them, CSA games a slash.

    Raises StoreError, OSError.
    """
    records = Records(results, _SUFFIXES[format])
    end = b"\n\n" if format in ("pgn", "kif") else b"\n"
    between = b"/\n" if format == "csa" else b""
    foreign = written = 0
    for _, text in records.each(void):
        if format in ("csa", "kif") and format != shogi_format(text):
            foreign += 1
        else:
            stream.write((between if written else b"") + text + end)
            written += 1
    notes = records.missing()
    if foreign:
        other = "kif" if format == "csa" else "csa"
        notes.append(
            f"{foreign} of {records.games} game records are in {other}, not {format}, and were "
            f"left out; --format {other} has them"
        )
    return notes


def shogi_format(record: bytes) -> str:
    """Return the format of a shogi game record by its beginning: a version or a comment in CSA,
    a comment or a heading in KIF."""
    return "csa" if record[:1] in (b"V", b"'", b"N", b"$", b"P") else "kif"


def _record(
    game: Game,
    directory: Path,
    waiting: dict[tuple[str, int], str],
    collected: CollectedRecords,
) -> bytes | None:
    """Return the record of a game from the store, from its file, or from the collected file."""
    text = waiting.get((game.id, game.attempt))
    if text is not None:
        # not written yet; a kill, or something in the file's place, has prevented it
        return text.encode("utf-8", "backslashreplace")
    path = directory / game.record_name
    try:
        return path.read_bytes()
    except FileNotFoundError:
        # collected files have no void games
        return None if game.is_void else collected.get(game.id)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error


_POSITION_SUFFIXES = {"epd": ("pgn",), "sfen": ("csa", "kifu")}


def write_positions(results: Results, format: str, stream: BinaryIO, void: bool) -> list[str]:
    """Write the final positions in the order of the games' ends; return notes on missing ones.

    Raises StoreError, OSError.
    """
    records = Records(results, _POSITION_SUFFIXES[format])
    read = _epd if format == "epd" else _sfen
    unread = 0
    for game, record in records.each(void):
        try:
            line = read(game, record.decode(errors="replace"))
        except (LookupError, ValueError):
            unread += 1
        else:
            stream.write(f"{line}\n".encode())
    notes = records.missing()
    if unread:
        notes.append(f"{unread} of {records.games} game records cannot be read and were left out")
    return notes


def _epd(game: Game, record: str) -> str:
    import chess.pgn

    played = chess.pgn.read_game(io.StringIO(record))
    if played is None or played.errors:
        raise ValueError("it is no PGN")
    board = played.end().board()
    counters = f"hmvc {board.halfmove_clock}; fmvn {board.fullmove_number};"
    return f'{board.epd()} {counters} c9 "{game.score}"; id "{game.id}";'


def _sfen(game: Game, record: str) -> str:
    from rsshogi.record import Record

    from ringmaster.games.shogi import new_shogi_game

    is_csa = shogi_format(record[:1].encode()) == "csa"
    read = Record.from_csa_str(record) if is_csa else Record.from_kif_str(record)
    start, _, moves = read.to_usi_position().removeprefix("position ").partition(" moves ")
    position = new_shogi_game(None if start == "startpos" else start.removeprefix("sfen "))
    for move in moves.split():
        position.play(move)
    return f"sfen {position.sfen()}"
