"""The game records of a competition, as one file of games or of their final positions: EPD with the
result (c9) and the game id for chess, SFEN for shogi."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from ringmaster.errors import DataFileError, IllegalMove
from ringmaster.formats.recorded_game import RecordedGame
from ringmaster.formats.registry import read_record, record_format
from ringmaster.formats.source import Source
from ringmaster.games.game import beginning
from ringmaster.results import Game, Results


class Records:
    """The recorded games of results, with a count of missing records."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._records = results.records()
        self.games = 0
        self._missing = 0

    def each(self, void: bool) -> Iterator[tuple[Game, bytes]]:
        """Yield the games with their records, in the order of their ends.  Raises StoreError."""
        for game in self._results.iter_games(void=void):
            record = self._records.get(game)
            # a void game without moves has no record
            self.games += not game.is_void or record is not None
            if record is None:
                self._missing += not game.is_void
            elif text := record.removeprefix(b"\xef\xbb\xbf").rstrip():
                yield game, text

    def missing(self) -> list[str]:
        if not self._missing:
            return []
        places = self._records.folders
        return [f"{self._missing} of {self.games} game records are not {places} and were left out"]


def write_records(results: Results, format: str, stream: BinaryIO, void: bool) -> list[str]:
    """Write the records unchanged, in the order of the games' ends; return notes on missing ones.

    PGN and KIF games have an empty line between them, CSA games a slash.

    Raises StoreError, OSError.
    """
    records = Records(results)
    end = b"\n\n" if format in ("pgn", "kif") else b"\n"
    between = b"/\n" if format == "csa" else b""
    foreign = written = 0
    for _, text in records.each(void):
        if format in ("csa", "kif") and format != record_format(text, text):
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


def write_positions(results: Results, format: str, stream: BinaryIO, void: bool) -> list[str]:
    """Write the final positions in the order of the games' ends; return notes on missing ones.

    Raises StoreError, OSError.
    """
    records = Records(results)
    begin = beginning(results.game, variant=variant_of(results))
    unread = 0
    for game, record in records.each(void):
        try:
            recorded = read_game(results, record, game.id)
            position = begin(recorded.start)
            for move in recorded.moves:
                position.play(move)
        except (DataFileError, IllegalMove, ValueError):
            unread += 1
            continue
        line = f"sfen {position.position()}"
        if format == "epd":
            *fields, halfmoves, number = position.position().split()
            counters = f"hmvc {halfmoves}; fmvn {number};"
            line = f'{" ".join(fields)} {counters} c9 "{game.score}"; id "{game.id}";'
        stream.write(f"{line}\n".encode())
    notes = records.missing()
    if unread:
        notes.append(f"{unread} of {records.games} game records cannot be read and were left out")
    return notes


def variant_of(results: Results) -> str:
    """Return the variant of chess of all games, "standard" for other games."""
    return str(results.settings.get("variant", "standard"))


def read_game(results: Results, record: bytes, id: str) -> RecordedGame:
    """Return the only game of a record.  Raises DataFileError, ValueError."""
    source = Source(id, results.game, variant_of(results), data=record)
    games = list(read_record(source))
    source.finish()
    if not games:
        raise ValueError("there is no game")
    return games[0]
