"""Check single positions by the rules of their game, mostly in a microsecond or two."""

from __future__ import annotations

from collections.abc import Callable

from ringmaster.games.chess import HAVE_COZY, usual_board, without_counters
from ringmaster.games.game import beginning
from ringmaster.model.players import GameName

#: Whether the side to move of a FEN or SFEN is in check.  Raises ValueError for an illegal
#: position.
InCheck = Callable[[str], bool]


def legality_check(game: GameName, variant: str, *, verify_checks: bool) -> InCheck:
    """Return the function that checks positions of a game.

    verify_checks  whether positions in check are verified completely; other positions always
                   are
    """
    begin = beginning(game, variant=variant)

    def by_rules(text: str) -> bool:
        return begin(text).in_check()

    if game == "shogi":
        return _shogi_check(by_rules)
    if HAVE_COZY and variant in ("standard", "chess960"):
        return _chess_check(by_rules, variant == "chess960", verify_checks)
    return by_rules


def _chess_check(by_rules: InCheck, chess960: bool, verify_checks: bool) -> InCheck:
    import cozy_chess as cozy

    def check(text: str) -> bool:
        if usual_board(text, chess960) is not None:
            return False
        if not verify_checks:
            try:
                if cozy.Board.from_fen(without_counters(text)).checkers():
                    return True
            except ValueError:
                pass
        # the full rules need python-chess, and give the reason for a refusal
        return by_rules(text)

    return check


def _shogi_check(by_rules: InCheck) -> InCheck:
    from rsshogi.core import Board

    def check(text: str) -> bool:
        try:
            board = Board(text)
            board.validate()
            if not board.is_attacked_by(board.king_square(board.turn.flip()), board.turn):
                return board.is_in_check()
        except ValueError:
            pass
        return by_rules(text)

    return check
