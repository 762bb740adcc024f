"""Further rules of Go: superko, and forbidden self-capture.

Each move updates a hash of the position (Zobrist 1970).  The hash after a move is computed
before the move is played, so that a refusal leaves the position unchanged.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Final

from ringmaster.games.go import MAX_SIZE, Chain, GoGame
from ringmaster.model.jobs import KoRule

#: A collision would forfeit a game; with 128 bits none is to be expected.
_HASH_BITS: Final = 128


@cache
def _words() -> tuple[list[list[int]], int]:
    """Return random words of the hash, the same in every process.

    These are words for each point with a black stone, and with a white one; and one for the
    side to move.
    """
    rng = random.Random(1970)
    points = range((MAX_SIZE + 1) * MAX_SIZE)
    stones = [[rng.getrandbits(_HASH_BITS) for _ in points] for _ in range(2)]
    return stones, rng.getrandbits(_HASH_BITS)


def new_go_game(
    size: int,
    setup: Sequence[str] = (),
    to_move: int = 0,
    *,
    ko_rule: KoRule = "simple",
    suicide: bool = True,
) -> GoGame:
    """Return a game with these rules; arguments and errors as for GoGame.

    ko_rule  "positional": no stone may bring back an earlier position;
             "situational": none with the same side to move.  Passing is always
             allowed
    suicide  whether self-capture is allowed
    """
    if ko_rule == "simple" and suicide:
        return GoGame(size, setup, to_move)
    return StrictGoGame(size, setup, to_move, ko_rule=ko_rule, suicide=suicide)


class StrictGoGame(GoGame):
    """Go with a superko rule, or without self-capture, or both."""

    __slots__ = ("_hash", "_ko_rule", "_seen", "_suicide")

    def __init__(
        self,
        size: int,
        setup: Sequence[str] = (),
        to_move: int = 0,
        *,
        ko_rule: KoRule,
        suicide: bool,
    ) -> None:
        super().__init__(size, setup, to_move)
        self._ko_rule = ko_rule
        self._suicide = suicide
        black = _words()[0][0]
        self._hash = 0
        for p, chain in enumerate(self.chains):
            if chain is not None:
                self._hash ^= black[p]
        self._seen = {self._key(self._hash, self._side)}

    def play(self, move: str) -> None:
        p = self.geometry.numbers.get(move)
        after = self._hash
        if p is not None and self.chains[p] is None and p != self._ko:
            after = self._after(p, move)
            if self._ko_rule != "simple" and self._key(after, 1 - self._side) in self._seen:
                raise self._refusal(
                    move, f"it brings back an earlier position ({self._ko_rule} superko)"
                )
        super().play(move)
        self._hash = after
        self._seen.add(self._key(after, self._side))

    def _key(self, position: int, side: int) -> int:
        """Return the key that must not recur, with `side` to move."""
        if self._ko_rule == "situational" and side:
            return position ^ _words()[1]
        return position

    def _after(self, p: int, move: str) -> int:
        """Return the hash of the position after a stone on the empty point `p`.

        Raises IllegalMove for a forbidden self-capture.
        """
        side = self._side
        words, _ = _words()
        own_words, other_words = words[side], words[1 - side]
        bit = self.geometry.bits[p]
        joined: list[Chain] = []
        captured: list[Chain] = []
        lives = False
        for q in self.geometry.neighbours[p]:
            near = self.chains[q]
            if near is None:
                lives = True
            elif near.colour == side:
                lives = lives or near.liberties != bit
                if near not in joined:
                    joined.append(near)
            elif near.liberties == bit and near not in captured:
                captured.append(near)
        after = self._hash
        if captured or lives:
            after ^= own_words[p]
            for chain in captured:
                for q in chain.points:
                    after ^= other_words[q]
            return after
        if not self._suicide:
            raise self._refusal(move, "self-capture is not allowed")
        for chain in joined:
            for q in chain.points:
                after ^= own_words[q]
        return after
