"""All game records of a competition in one file: PGN games with an empty line
between them, or an SGF collection."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from ringmaster.errors import StoreError
from ringmaster.results import Game, Results


def write_records(results: Results, format: str, stream: BinaryIO, void: bool) -> list[str]:
    """Write the records in the order in which the games finished, byte for byte
    but for the empty lines at their ends; returns what is missing, a line of
    text.  Raises StoreError, OSError."""
    waiting = results.waiting_records()
    end = b"\n\n" if format == "pgn" else b"\n"
    games = missing = 0
    for game in results.iter_games(void=void):
        record = _record(game, results.path.absolute().parent, waiting)
        # a void game has a record only when something was played
        games += not game.is_void or record is not None
        if record is None:
            missing += not game.is_void
        elif text := record.removeprefix(b"\xef\xbb\xbf").rstrip():
            stream.write(text + end)
    if not missing:
        return []
    folder = results.path.with_suffix(".games")
    return [f"{missing} of {games} game records are not in {folder} and were left out"]


def _record(game: Game, directory: Path, waiting: dict[tuple[str, int], str]) -> bytes | None:
    path = directory / game.record_name
    try:
        return path.read_bytes()
    except FileNotFoundError:
        # it has not been written yet, or a kill has prevented it
        text = waiting.get((game.id, game.attempt))
        return None if text is None else text.encode("utf-8", "backslashreplace")
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
