"""A recorded game played through: its positions, and which of its moves are noisy."""

from __future__ import annotations

from dataclasses import dataclass

from ringmaster.datasets.recorded_game import RecordedGame, plies_before
from ringmaster.games.start import Begin
from ringmaster.model.players import GameName


@dataclass(frozen=True)
class Replay:
    """A game's positions; all lists are by plies from the start of the record.

    game    the record
    before  plies before its start
    texts   FEN or SFEN before each move, and the last
    sides   who is to move in them, 0 the side that moves first in a game
    checks  whether that side is in check
    noisy   whether the move is a capture or a promotion
    """

    game: RecordedGame
    before: int
    texts: list[str]
    sides: list[int]
    checks: list[bool]
    noisy: list[bool]

    def __len__(self) -> int:
        return len(self.noisy)


def replay(game: RecordedGame, name: GameName, begin: Begin) -> Replay:
    """Play a record through.  Raises IllegalMove, ValueError for one that is not sound."""
    position = begin(game.start)
    texts, sides, checks = [position.position()], [position.to_move], [position.in_check()]
    noisy = []
    men = _men(texts[0])
    for move in game.moves:
        position.play(move)
        text = position.position()
        after = _men(text)
        # captures take a man off the board in chess and in shogi
        promotes = move[-1] == "+" if name == "shogi" else len(move) > 4 and move[-1].isalpha()
        noisy.append(after < men or promotes)
        men = after
        texts.append(text)
        sides.append(position.to_move)
        checks.append(position.in_check())
    return Replay(game, plies_before(name, game.start), texts, sides, checks, noisy)


_NOT_MEN = bytes(c for c in range(128) if not chr(c).isalpha())


def _men(text: str) -> int:
    """Return how many men are on the board of a FEN or an SFEN."""
    board = text[: text.index(" ")].partition("[")[0]
    return len(board.encode().translate(None, _NOT_MEN))
