"""All game records of a competition in one file: PGN or KIF games with an empty
line between them, an SGF collection, or CSA games with a slash between them."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from ringmaster.errors import StoreError
from ringmaster.export.collected import CollectedRecords
from ringmaster.results import Game, Results
from ringmaster.storage.paths import OutputPaths

#: What the files of the formats end in; a KIF file in UTF-8 is a .kifu.
_SUFFIXES = {"pgn": ("pgn",), "sgf": ("sgf",), "csa": ("csa", "kifu"), "kif": ("csa", "kifu")}


def write_records(results: Results, format: str, stream: BinaryIO, void: bool) -> list[str]:
    """Write the records in the order in which the games finished, byte for byte
    but for the empty lines at their ends; returns what is missing, a line of
    text.  Raises StoreError, OSError."""
    waiting = results.waiting_records()
    paths = OutputPaths(results.path)
    collected = CollectedRecords({suffix: paths.collected(suffix) for suffix in _SUFFIXES[format]})
    end = b"\n\n" if format in ("pgn", "kif") else b"\n"
    between = b"/\n" if format == "csa" else b""
    games = missing = foreign = written = 0
    for game in results.iter_games(void=void):
        record = _record(game, results.path.absolute().parent, waiting, collected)
        # a void game has a record only when something was played
        games += not game.is_void or record is not None
        if record is None:
            missing += not game.is_void
        elif text := record.removeprefix(b"\xef\xbb\xbf").rstrip():
            if format in ("csa", "kif") and format != _shogi_format(text):
                foreign += 1
            else:
                stream.write((between if written else b"") + text + end)
                written += 1
    said = []
    if missing:
        folder = results.path.with_suffix(".games")
        files = " or ".join([f"in {folder}", *map(str, collected.existing())])
        said.append(f"{missing} of {games} game records are not {files} and were left out")
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


def _record(
    game: Game,
    directory: Path,
    waiting: dict[tuple[str, int], str],
    collected: CollectedRecords,
) -> bytes | None:
    """Return the record of a game: its file, what is still to be written, or its
    part of the collected file."""
    path = directory / game.record_name
    try:
        return path.read_bytes()
    except FileNotFoundError:
        # it has not been written yet, or a kill has prevented it
        text = waiting.get((game.id, game.attempt))
        if text is not None:
            return text.encode("utf-8", "backslashreplace")
        # void games are not collected
        return None if game.is_void else collected.get(game.id)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
