"""Which positions of a recorded game become part of a labelled set.

They are drawn without replacement by the game's own random words, so that the same
games give the same set in whatever order they are read, and a game that is added
changes nothing for the others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass
from typing import Literal

from ringmaster.datasets.batch import hash_of
from ringmaster.datasets.exchange import is_quiet
from ringmaster.datasets.replay import Replay
from ringmaster.model.players import GameName
from ringmaster.model.randomness import LABELLED_STREAM, words

#: What is taken: "quiet" positions, between moves that are neither captures nor
#: promotions; "resolved" ones, in which the captures of the game have been played out;
#: "all".
Noise = Literal["quiet", "resolved", "all"]
#: Why a position was not taken that a set without scores could have.
UNSCORED = "without a score"
#: Plies that captures are followed for.
_LONGEST_EXCHANGE = 16


@dataclass(frozen=True)
class Rules:
    """What is picked of a game.

    per_game    positions at most; None for all
    first_ply   plies from the start of the game before the first one
    last_plies  how many plies before the end of the game are left out
    score_cap   largest |score| in centipawns; None for any, mates included
    noise       see `Noise`
    seed        of the draw
    scored      whether positions without a score are left out
    """

    per_game: int | None = 10
    first_ply: int = 8
    last_plies: int = 0
    score_cap: float | None = None
    noise: Noise = "quiet"
    seed: int = 0
    scored: bool = True


@dataclass(frozen=True, slots=True)
class Labelled:
    """A position with what is known of it.

    text    FEN or SFEN
    move    that was played, in the protocol's notation
    side    who is to move, 0 the side that moves first in a game
    result  of the game from that side, 0, 0.5 or 1
    score   centipawns from the same side, NaN unknown; a mate is ±10,000
    ply     plies played before it
    length  plies of its whole game
    game    id of its game
    draw    random 64 bits, by which a sample of the set is taken
    """

    text: str
    move: str
    side: int
    result: float
    score: float
    ply: int
    length: int
    game: str
    draw: int


class Picker:
    """Picks positions of games; counts what it does not take.

    left_out  plies that were candidates and were not taken, by the reason in words
    """

    def __init__(self, rules: Rules, game: GameName, chess960: bool = False) -> None:
        self.rules = rules
        self.left_out: Counter[str] = Counter()
        self._game, self._chess960 = game, chess960

    def pick(
        self, played: Replay, id: str, result: float, sides: Container[int] = (0, 1)
    ) -> list[Labelled]:
        """Return positions of a game in the order of play.

        id      the game's
        result  from the side that moves first, 0, 0.5 or 1
        sides   whose turn it must be
        """
        draws = words(self.rules.seed, LABELLED_STREAM, hash_of(id), len(played))
        order = sorted(range(len(played)), key=draws.__getitem__)
        wanted = len(order) if self.rules.per_game is None else self.rules.per_game
        taken: dict[int, int] = {}
        reasons: dict[int, str] = {}
        for ply in order:
            if len(taken) >= wanted:
                break
            at: int | None = ply
            reason = self._unfit(played, ply, sides)
            if not reason and self.rules.noise == "resolved":
                at = self._settled(played, ply)
                reason = "amid an exchange that was not played out" if at is None else ""
                if at is not None and at != ply:
                    reason = self._unfit(played, at, sides)
            if reason or at is None:
                reasons[ply] = reason
            else:
                taken.setdefault(at, draws[ply])
        self.left_out.update(reasons.values())
        return [self._labelled(played, ply, id, result, taken[ply]) for ply in sorted(taken)]

    def _unfit(self, played: Replay, ply: int, sides: Container[int]) -> str:
        """Return why a position cannot be taken, "" when it can."""
        rules, game = self.rules, played.game
        if played.before + ply < rules.first_ply or ply >= len(played) - rules.last_plies:
            return "near the start or the end of the game"
        if ply < game.book:
            return "of the opening book"
        if played.sides[ply] not in sides:
            return "with another player to move"
        score = game.scores[ply]
        if math.isnan(score):
            if rules.scored:
                return UNSCORED
        elif rules.score_cap is not None and abs(score) > rules.score_cap:
            return "with a score above the cap"
        if rules.noise != "resolved" and played.checks[ply]:
            return "in check"
        if rules.noise == "quiet" and (played.noisy[ply] or (ply and played.noisy[ply - 1])):
            return "beside a capture or a promotion"
        return ""

    def _settled(self, played: Replay, ply: int) -> int | None:
        """Return the first quiet position from `ply` on to which only captures,
        promotions and answers to check lead; None when there is none."""
        for at in range(ply, min(len(played), ply + _LONGEST_EXCHANGE)):
            checked = played.checks[at]
            if not checked and is_quiet(played.texts[at], self._game, self._chess960):
                return at
            if not (played.noisy[at] or checked):
                return None
        return None

    def _labelled(self, played: Replay, ply: int, id: str, result: float, draw: int) -> Labelled:
        game, side = played.game, played.sides[ply]
        score = game.scores[ply]
        return Labelled(
            played.texts[ply],
            game.moves[ply],
            side,
            1 - result if side else result,
            # no negative zero
            (-score if side else score) + 0.0,
            played.before + ply,
            played.before + len(played),
            id,
            draw,
        )
