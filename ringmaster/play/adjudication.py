"""When a game is stopped before its rules end it: by the engines' scores, or by
tablebases.

The scores are the engines' own, each from its mover's side.  A score that is
missing counts as one that says nothing, and ends a row of those that do.  The
move limit is the referee's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ringmaster.games.game import Game
from ringmaster.games.tablebases import TABLEBASES, Prober, open_tablebases
from ringmaster.model.adjudication import DrawAdjudication, ResignAdjudication
from ringmaster.model.jobs import GameSettings

DRAW: Final = "adjudicated draw"
WIN: Final = "adjudicated win"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a game is settled; the fields are those of GameResult."""

    winner: int | None
    reason: str
    detail: str = ""


class Adjudicator:
    """Judges one game; told of every move that stands, in order.

    prober  what knows the results of positions, None without tablebases
    """

    def __init__(self, settings: GameSettings, prober: Prober | None = None) -> None:
        self._is_chess = settings.game == "chess"
        draw, resign = settings.draw_adjudication, settings.resign_adjudication
        self._draw = None if draw is None else _Draw(draw)
        self._resign = None if resign is None else _Resign(resign)
        self._prober = prober

    def judge(self, game: Game, mover: int, score: int | None, mate: int | None) -> Verdict | None:
        """Return how the game ends, None if it goes on.

        game   after the mover's move, which has not ended it
        score  centipawns from the mover's side, None when it gave none
        mate   moves to mate (0 or less: being mated), None likewise
        """
        if self._prober is not None and self._is_chess:
            ending = self._prober.probe(game.position())
            if ending is not None:
                return Verdict(ending.winner, TABLEBASES)
        if self._draw is not None:
            level = self._draw.is_level(score if mate is None else None)
            # the position takes time to write down, and most scores are not level
            completed, began = _count(game, chess=self._is_chess) if level else (0, False)
            if self._draw.is_reached(completed, level=level, began=began):
                return Verdict(None, DRAW, self._draw.words)
        if self._resign is not None:
            winner = self._resign.winner(mover, _points(score, mate))
            if winner is not None:
                return Verdict(winner, WIN, self._resign.words)
        return None


def make_adjudicator(settings: GameSettings) -> Adjudicator | None:
    """Return what judges a game, None when nothing is asked for.

    Raises EngineError when the tablebases are not there.
    """
    tables = settings.tablebases
    if tables is None and not settings.draw_adjudication and not settings.resign_adjudication:
        return None
    return Adjudicator(settings, None if tables is None else open_tablebases(tables))


class _Draw:
    """Counts the plies in a row after which the mover gave about 0."""

    def __init__(self, rule: DrawAdjudication) -> None:
        self._rule = rule
        self._plies = 0
        self.words = f"both scores within {rule.score / 100:.2f} for {rule.move_count} moves"

    def is_level(self, score: int | None) -> bool:
        """Whether a score (None: none, or a mate) is about 0."""
        return score is not None and abs(score) <= self._rule.score

    def is_reached(self, completed: int, *, level: bool, began: bool) -> bool:
        """Count a move: whether its score is level, the full moves of the game with
        it, and whether nothing before it can be repeated."""
        rule = self._rule
        # a capture or a pawn move begins the count anew, as in fastchess
        self._plies = 0 if not level else 1 if began else self._plies + 1
        return completed >= rule.move_number and self._plies >= 2 * rule.move_count


class _Resign:
    """Counts, for each player, the moves in a row that it called lost and won."""

    def __init__(self, rule: ResignAdjudication) -> None:
        self._rule = rule
        self._lost = [0, 0]
        self._won = [0, 0]
        count, score = rule.move_count, rule.score / 100
        self.words = f"score {-score:.2f} or worse for {count} move{'s' * (count != 1)}"
        if rule.two_sided:
            self.words += ", and the opponent agrees"

    def winner(self, mover: int, points: float | None) -> int | None:
        """Count a move with its score; return who has won, None if nobody has."""
        rule = self._rule
        self._lost[mover] = self._lost[mover] + 1 if _at_least(points, rule.score, -1) else 0
        self._won[mover] = self._won[mover] + 1 if _at_least(points, rule.score, 1) else 0
        for loser in (mover, 1 - mover):
            agreed = not rule.two_sided or self._won[1 - loser] >= rule.move_count
            if agreed and self._lost[loser] >= rule.move_count:
                return 1 - loser
        return None


def _at_least(points: float | None, score: int, sign: int) -> bool:
    return points is not None and sign * points >= score


def _points(score: int | None, mate: int | None) -> float | None:
    """Return a score in centipawns; a mate is beyond any."""
    if mate is not None:
        # "mate 0" is what an engine says that is mated already
        return float("inf") if mate > 0 else float("-inf")
    return score


def _count(game: Game, *, chess: bool) -> tuple[int, bool]:
    """Return how many full moves have been completed (as in fastchess and
    cutechess), and whether the last one was a capture or a pawn move of chess."""
    if not chess:
        return len(game.moves) // 2, False
    # the last two fields also where a variant has others before them
    clock, number = game.position().split()[-2:]
    return int(number) - 1, clock == "0"
