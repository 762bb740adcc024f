"""Pick positions of recorded games for a labelled set.

A game's own random words draw its positions without replacement.  The order of the games
therefore does not matter, and an added game changes nothing for the others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ringmaster.formats.recorded_game import Replay
from ringmaster.formats.source import Record, hash_of
from ringmaster.games.clean_text import shown
from ringmaster.model.players import GameName
from ringmaster.model.randomness import LABELLED_STREAM, words

if TYPE_CHECKING:
    import chess
    from rsshogi.core import Board, Move, Square


#: Values by python-chess's numbers of pieces; the king's is above all others together.
_CHESS = {0: 0, 1: 100, 2: 320, 3: 330, 4: 500, 5: 950, 6: 10_000}
#: Values by SFEN's letters, in proportions common to shogi programs.
_SHOGI = {
    **{"P": 90, "L": 315, "N": 405, "S": 495, "G": 540, "B": 855, "R": 990, "K": 10_000},
    **{"+P": 540, "+L": 540, "+N": 540, "+S": 540, "+B": 945, "+R": 1395},
}


def is_quiet(text: str, game: GameName, chess960: bool = False) -> bool:
    """Return whether no capture or promotion wins material at once.

    The captures on one square are played in turn, each by the least valuable piece, and either
    side may stop.

    text  FEN or SFEN of a legal position, not in check

    Raises ValueError for an invalid position.
    """
    try:
        gains = _shogi_gains(text) if game == "shogi" else _chess_gains(text, chess960)
        return all(gain <= 0 for gain in gains)
    except (ValueError, IndexError) as error:
        raise ValueError(f"{shown(text)} is not a position: {error}") from None


def _chess_gains(text: str, chess960: bool) -> Iterator[int]:
    import chess

    board = chess.Board(text, chess960=chess960)
    for move in list(board.legal_moves):
        if move.promotion == chess.QUEEN or board.is_capture(move):
            yield _chess_gain(board, move)


def _chess_gain(board: chess.Board, move: chess.Move) -> int:
    """Return the mover's gain by a move and the captures that follow on its square."""
    square = move.to_square
    gain = _CHESS[1 if board.is_en_passant(move) else board.piece_type_at(square) or 0]
    if move.promotion:
        gain += _CHESS[move.promotion] - _CHESS[1]
    board.push(move)
    reply = min(
        board.generate_legal_moves(to_mask=1 << square),
        key=lambda reply: _CHESS[board.piece_type_at(reply.from_square) or 0],
        default=None,
    )
    if reply is not None:
        gain -= max(_chess_gain(board, reply), 0)
    board.pop()
    return gain


def _shogi_gains(text: str) -> Iterator[int]:
    from rsshogi.core import Board

    board = Board(text)
    for move in board.legal_moves():
        captures = not board.is_square_empty(move.to_sq)
        if not move.is_drop() and (captures or move.is_promotion()):
            yield _shogi_gain(board, move)


def _shogi_gain(board: Board, move: Move) -> int:
    """Return the mover's gain by a move and the captures that follow on its square."""
    square, gain = move.to_sq, 0
    if not board.is_square_empty(square):
        captured = _letters(board, square)
        # one piece less for the opponent, and an unpromoted one in hand
        gain += _SHOGI[captured] + _SHOGI[captured[-1]]
    if move.is_promotion():
        letter = _letters(board, move.from_sq)
        gain += _SHOGI[f"+{letter}"] - _SHOGI[letter]
    board.apply_move(move)
    replies = [m for m in board.legal_moves() if m.to_sq == square and not m.is_drop()]
    if replies:
        values = [(_SHOGI[_letters(board, m.from_sq)], not m.is_promotion()) for m in replies]
        gain -= max(_shogi_gain(board, replies[values.index(min(values))]), 0)
    board.undo_move(move)
    return gain


def _letters(board: Board, square: Square) -> str:
    letters: str = board.piece_on(square).piece_type.to_usi()
    return letters


#: Positions to pick: "quiet", between moves that are neither captures nor promotions;
#: "resolved", after the end of an exchange; "all".
Noise = Literal["quiet", "resolved", "all"]
#: Reason for omitting a position that a set without scores could include.
WITHOUT_SCORE = "without a score"
#: Longest exchange in plies.
_LONGEST_EXCHANGE = 16


@dataclass(frozen=True)
class Rules:
    """Rules for picking positions of a game.

    per_game    most positions, None for all
    first_ply   plies omitted at the start of the game
    last_plies  plies omitted at the end
    score_cap   largest |score| in centipawns, None for any, mates included
    noise       see `Noise`
    seed        of the draw
    """

    per_game: int | None = 10
    first_ply: int = 8
    last_plies: int = 0
    score_cap: float | None = None
    noise: Noise = "quiet"
    seed: int = 0


class Picker:
    """Picks positions of games.

    left_out  number of omitted positions, by reason in words
    """

    def __init__(
        self, rules: Rules, game: GameName, *, chess960: bool = False, scored: bool = True
    ) -> None:
        """Begin without games; `scored` leaves positions without a score out."""
        self.rules, self._scored = rules, scored
        self.left_out: Counter[str] = Counter()
        self._game, self._chess960 = game, chess960

    def pick(
        self, replay: Replay, id: str, result: float, sides: Container[int] = (0, 1)
    ) -> list[tuple[Record, int]]:
        """Return positions of a game in the order of play, and random words.

        The positions with the smallest words form a sample of the set.

        id      the game's
        result  from the side that moves first, 0, 0.5 or 1
        sides   allowed sides to move
        """
        draws = words(self.rules.seed, LABELLED_STREAM, hash_of(id), len(replay))
        order = sorted(range(len(replay)), key=draws.__getitem__)
        most = len(order) if self.rules.per_game is None else self.rules.per_game
        #: draws by ply
        picked: dict[int, int] = {}
        reasons: dict[int, str] = {}
        for ply in order:
            if len(picked) >= most:
                break
            at: int | None = ply
            reason = self._unfit(replay, ply, sides)
            if not reason and self.rules.noise == "resolved":
                at = self._resolved(replay, ply)
                reason = "amid an exchange that was not played out" if at is None else ""
                if at is not None and at != ply:
                    reason = self._unfit(replay, at, sides)
            if reason or at is None:
                reasons[ply] = reason
            else:
                picked.setdefault(at, draws[ply])
        self.left_out.update(reasons.values())
        game, before = replay.game, replay.before
        length = before + len(replay)
        return [
            (
                Record(
                    replay.texts[ply].encode(),
                    result,
                    game.scores[ply],
                    before + ply,
                    game=id,
                    length=length,
                    move=game.moves[ply],
                ),
                picked[ply],
            )
            for ply in sorted(picked)
        ]

    def _unfit(self, replay: Replay, ply: int, sides: Container[int]) -> str:
        """Return the reason for omitting a position, "" for none."""
        rules, game = self.rules, replay.game
        if replay.before + ply < rules.first_ply or ply >= len(replay) - rules.last_plies:
            return "near the start or the end of the game"
        if ply < game.book:
            return "of the opening book"
        if replay.sides[ply] not in sides:
            return "with another player to move"
        score = game.scores[ply]
        if math.isnan(score):
            if self._scored:
                return WITHOUT_SCORE
        elif rules.score_cap is not None and abs(score) > rules.score_cap:
            return "with a score above the cap"
        if rules.noise != "resolved" and replay.checks[ply]:
            return "in check"
        if rules.noise == "quiet" and (replay.noisy[ply] or (ply and replay.noisy[ply - 1])):
            return "beside a capture or a promotion"
        return ""

    def _resolved(self, replay: Replay, ply: int) -> int | None:
        """Return the first quiet position after captures, promotions and answers to check.

        The search begins at `ply`.  None means that the exchange was not played out.
        """
        for at in range(ply, min(len(replay), ply + _LONGEST_EXCHANGE)):
            checked = replay.checks[at]
            if not checked and is_quiet(replay.texts[at], self._game, self._chess960):
                return at
            if not (replay.noisy[at] or checked):
                return None
        return None
