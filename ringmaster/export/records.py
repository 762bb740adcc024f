"""All game records of a competition in one file: PGN or KIF games with an empty
line between them, an SGF collection, or CSA games with a slash between them."""

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
    end = {"pgn": b"\n\n", "kif": b"\n\n", "csa": b"\n/\n"}.get(format, b"\n")
    games = missing = foreign = 0
    for game in results.iter_games(void=void):
        record = _record(game, results.path.absolute().parent, waiting)
        # a void game has a record only when something was played
        games += not game.is_void or record is not None
        if record is None:
            missing += not game.is_void
        elif text := record.removeprefix(b"\xef\xbb\xbf").rstrip():
            if format in ("csa", "kif") and format != _shogi_format(text):
                foreign += 1
            else:
                stream.write(text + end)
    said = []
    if missing:
        folder = results.path.with_suffix(".games")
        said.append(f"{missing} of {games} game records are not in {folder} and were left out")
    if foreign:
        other = "kif" if format == "csa" else "csa"
        said.append(
            f"{foreign} of {games} game records are in {other}, not {format}, and were left "
            f"out; --format {other} has them"
        )
    return said


def _shogi_format(record: bytes) -> str:
    """Return the format of a shogi game record, told by how it begins: a version
    or a comment in CSA, a comment or a heading in KIF."""
    return "csa" if record[:1] in (b"V", b"'", b"N", b"$", b"P") else "kif"


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
