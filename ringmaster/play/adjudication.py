"""Adjudication of games by the engines' scores or by tablebases.  A score in Go is a winrate.

Scores are the engines' own, each from its mover's side.  A missing score interrupts a series
of decisive or level ones.  The referee handles the move limit.
"""

from __future__ import annotations

from typing import Final

from ringmaster.engines.gtp_analysis import SCORE_OF_CERTAINTY
from ringmaster.errors import counted
from ringmaster.games.game import Ending, Game
from ringmaster.games.tablebases import Prober, open_tablebases
from ringmaster.model.jobs import DrawAdjudication, GameSettings, ResignAdjudication

DRAW: Final = "adjudicated draw"
WIN: Final = "adjudicated win"


class Adjudicator:
    """Judges one game after every legal move.

    prober  the tablebases, or None
    """

    def __init__(self, settings: GameSettings, prober: Prober | None = None) -> None:
        self._is_chess = settings.game == "chess"
        draw, resign = settings.draw_adjudication, settings.resign_adjudication
        self._draw = None if draw is None else _Draw(draw)
        self._resign = None if resign is None else _Resign(resign)
        self._prober = prober

    def judge(self, game: Game, mover: int, score: int | None, mate: int | None) -> Ending | None:
        """Return the adjudication, None if the game goes on.

        game   after the mover's move, not ended by the rules
        score  as in MoveRecord, None without a score
        mate   moves to mate (0 or less: being mated), None likewise
        """
        if self._prober is not None and self._is_chess:
            ending = self._prober.probe(game.position())
            if ending is not None:
                return ending
        if self._draw is not None:
            level = self._draw.is_level(score if mate is None else None)
            # Most scores are not level, and counting takes time.
            completed, began = _count(game, chess=self._is_chess) if level else (0, False)
            if self._draw.is_reached(completed, level=level, began=began):
                return Ending(None, DRAW, self._draw.words)
        if self._resign is not None:
            winner = self._resign.winner(mover, _points(score, mate))
            if winner is not None:
                return Ending(winner, WIN, self._resign.words)
        return None


def make_adjudicator(settings: GameSettings) -> Adjudicator | None:
    """Return a game's adjudicator, None without adjudication settings.

    Raises EngineError when the tablebases are missing.
    """
    tables = settings.tablebases
    if tables is None and not settings.draw_adjudication and not settings.resign_adjudication:
        return None
    return Adjudicator(settings, None if tables is None else open_tablebases(tables))


class _Draw:
    """Counts consecutive plies with a score near 0."""

    def __init__(self, rule: DrawAdjudication) -> None:
        self._rule = rule
        self._plies = 0
        self._most = rule.score
        what = f"scores within {rule.score / 100:.2f}"
        if rule.winrate is not None:
            self._most = round(SCORE_OF_CERTAINTY * rule.winrate)
            what = f"winrates within {rule.winrate:.1%} of 50%"
        self.words = f"both {what} for {rule.move_count} moves"

    def is_level(self, score: int | None) -> bool:
        """Return whether a score (None without one, or for a mate) is near 0."""
        return score is not None and abs(score) <= self._most

    def is_reached(self, completed: int, *, level: bool, began: bool) -> bool:
        """Count a move; return whether the game is drawn.

        completed  full moves of the game
        began      whether the move is irreversible
        """
        rule = self._rule
        # A capture or a pawn move restarts the count, as in fastchess.
        self._plies = 0 if not level else 1 if began else self._plies + 1
        return completed >= rule.move_number and self._plies >= 2 * rule.move_count


class _Resign:
    """Counts each player's consecutive moves with a lost and with a won score."""

    def __init__(self, rule: ResignAdjudication) -> None:
        self._rule = rule
        self._lost = [0, 0]
        self._won = [0, 0]
        self._least = rule.score
        what = f"score {-rule.score / 100:.2f}"
        if rule.winrate is not None:
            self._least = round(SCORE_OF_CERTAINTY * (0.5 - rule.winrate))
            what = f"winrate {rule.winrate:.1%}"
        self.words = f"{what} or worse for {counted(rule.move_count, 'move')}"
        if rule.two_sided:
            self.words += ", and the opponent agrees"

    def winner(self, mover: int, points: float | None) -> int | None:
        """Count a move with its score; return the winner, None if the game goes on."""
        rule = self._rule
        is_lost = points is not None and points <= -self._least
        is_won = points is not None and points >= self._least
        self._lost[mover] = self._lost[mover] + 1 if is_lost else 0
        self._won[mover] = self._won[mover] + 1 if is_won else 0
        for loser in (mover, 1 - mover):
            agreed = not rule.two_sided or self._won[1 - loser] >= rule.move_count
            if agreed and self._lost[loser] >= rule.move_count:
                return 1 - loser
        return None


def _points(score: int | None, mate: int | None) -> float | None:
    """Return a score in centipawns; a mate is infinite."""
    if mate is not None:
        # "mate 0": the mover is mated.
        return float("inf") if mate > 0 else float("-inf")
    return score


def _count(game: Game, *, chess: bool) -> tuple[int, bool]:
    """Return the number of completed full moves (as in fastchess and cutechess), and whether
    the last move was a capture or a pawn move of chess."""
    if not chess:
        return len(game.moves) // 2, False
    # Variants may have other fields before these two.
    clock, number = game.position().split()[-2:]
    return int(number) - 1, clock == "0"
