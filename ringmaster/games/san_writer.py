"""Moves of finished games of chess and Chess960 in algebraic notation.

`fast_san_moves` plays them on cozy_chess (about 1.5 microseconds a ply),
`reference_san_moves` on python-chess (15): for what cannot be played on the fast rules,
for machines without them, and as the oracle of the tests.
"""

from __future__ import annotations

from collections.abc import Sequence

from ringmaster.games.chess import HAVE_COZY, ChessGame

if HAVE_COZY:
    import cozy_chess as cozy

    _WON = cozy.GameStatus.Won

_FILES = "abcdefgh"


def fast_san_moves(game: ChessGame, moves: Sequence[str]) -> list[str]:
    """Play moves on a new game's board and return them in algebraic notation, up to the
    first that is not legal.

    The board knows what is legal; what stands where is kept beside it, since asking it
    for a piece takes as long as a move.
    """
    board = game.board
    at, places = _pieces_of(board)
    found = []
    for move in moves:
        step = game.step(move)
        start, target = move[:2], move[2:4]
        letter = at.get(start)
        if step is None or letter is None:
            break
        kind = letter.upper()
        victim = at.get(target)
        if kind == "P":
            san = target if start[0] == target[0] else f"{start[0]}x{target}"
            if len(move) > 4:
                san += "=" + move[4].upper()
        elif kind == "K" and _castles(step, at, letter):
            san = "O-O-O" if target < start else "O-O"
        else:
            which = ""
            if len(places[letter]) > 1 and kind != "K":
                which = _which(game, start, target, places[letter])
            san = f"{kind}{which}{'x' if victim else ''}{target}"
        if not board.try_play(step):
            break
        if san[0] == "O":
            _castle(at, places, letter, start, str(step.to_square))
        else:
            if victim:
                places[victim].remove(target)
            elif kind == "P" and start[0] != target[0]:
                passed = target[0] + start[1]
                places[at.pop(passed)].remove(passed)
            del at[start]
            places[letter].remove(start)
            if len(move) > 4:
                letter = move[4].upper() if letter == "P" else move[4]
            at[target] = letter
            places[letter].append(target)
        if board.checkers():
            san += "#" if board.status() == _WON else "+"
        found.append(san)
    return found


def _pieces_of(board: cozy.Board) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the piece on each square, by its letter in FEN, and the squares of each."""
    at: dict[str, str] = {}
    places: dict[str, list[str]] = {letter: [] for letter in "PNBRQKpnbrqk"}
    for rank, row in zip("87654321", board.fen().split(maxsplit=1)[0].split("/"), strict=True):
        file = 0
        for letter in row:
            if letter in "12345678":
                file += int(letter)
                continue
            square = _FILES[file] + rank
            at[square] = letter
            places[letter].append(square)
            file += 1
    return at, places


def _castles(step: cozy.Move, at: dict[str, str], king: str) -> bool:
    """Whether a king's step, if it is legal, is castling: it takes its own rook."""
    return at.get(str(step.to_square)) == ("R" if king == "K" else "r")


def _which(game: ChessGame, start: str, target: str, places: list[str]) -> str:
    """Return what tells the piece on `start` from others of its kind that may go to
    `target`: file, rank, or both; "" where there is none."""
    others = []
    for other in places:
        if other != start:
            step = game.step(other + target)
            if step is not None and game.board.is_legal(step):
                others.append(other)
    if not others:
        return ""
    if all(other[0] != start[0] for other in others):
        return start[0]
    return start if any(other[1] == start[1] for other in others) else start[1]


def _castle(
    at: dict[str, str], places: dict[str, list[str]], king: str, start: str, corner: str
) -> None:
    """Move the king from `start`, the rook from `corner`."""
    rook = "R" if king == "K" else "r"
    del at[start], at[corner]
    places[king].remove(start)
    places[rook].remove(corner)
    files = "cd" if corner < start else "gf"
    for letter, file in zip((king, rook), files, strict=True):
        at[file + start[1]] = letter
        places[letter].append(file + start[1])


def reference_san_moves(variant: str, fen: str | None, moves: Sequence[str]) -> list[str]:
    """Return moves in algebraic notation, up to the first that is not legal; from any
    position that python-chess can read.  Raises ValueError for another."""
    import chess

    board = chess.Board(fen or chess.STARTING_FEN, chess960=variant == "chess960")
    found = []
    for move in moves:
        try:
            step = chess.Move.from_uci(move)
        except ValueError:
            break
        if not board.is_legal(step):
            break
        found.append(board.san_and_push(step))
    return found
