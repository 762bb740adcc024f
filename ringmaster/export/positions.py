"""The final positions of games, a line each: EPD with the result (c9) and the id of
the game for chess, SFEN for shogi.  They are made from the game records."""

from __future__ import annotations

import io
from typing import BinaryIO

from ringmaster.export.records import Records, shogi_format
from ringmaster.results import Game, Results

_SUFFIXES = {"epd": ("pgn",), "sfen": ("csa", "kifu")}


def write_positions(results: Results, format: str, stream: BinaryIO, void: bool) -> list[str]:
    """Write the positions in the order in which the games finished; returns what
    is missing, a line of text.  Raises StoreError, OSError."""
    records = Records(results, _SUFFIXES[format])
    read = _epd if format == "epd" else _sfen
    unread = 0
    for game, record in records.each(void):
        try:
            line = read(game, record.decode(errors="replace"))
        except (LookupError, ValueError):
            unread += 1
        else:
            stream.write(f"{line}\n".encode())
    said = records.missing()
    if unread:
        said.append(f"{unread} of {records.games} game records cannot be read and were left out")
    return said


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
