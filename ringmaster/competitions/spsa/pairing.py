"""Who plays whom in the games of an iteration, with which opening and colours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

Pairing = Literal["self_play", "reference"]
#: "+" and "-" for the sides of an iteration, "=" for the opponent.
Side = Literal["+", "-", "="]


class Games(msgspec.Struct, frozen=True):
    """The games of the iterations, each of `size` games (an even number).

    In self-play two games in a row are a pair: θ⁺ against θ⁻ from one opening, then with
    the colours swapped.  Against a reference, two games in a row are θ⁺'s and θ⁻'s, of
    one opening and with the same colour; the next two have the other colour.
    """

    pairing: Pairing
    size: int

    def opening(self, game: int) -> int:
        """Return the number of a game's opening; both, and the games of the whole tune,
        count from 0."""
        return game // (2 if self.pairing == "self_play" else 4)

    def openings(self, games: int) -> int:
        """Return how many openings so many games take."""
        return self.opening(games - 1) + 1 if games else 0

    def sides(self, iteration: int, game: int) -> tuple[Side, Side]:
        """Return the sides of a game, the one that moves first first."""
        side: Side = "-" if game % 2 else "+"
        if self.pairing == "self_play":
            return (side, "+" if side == "-" else "-")
        return ("=", side) if self._twos(iteration, game) % 2 else (side, "=")

    def gain(self, sides: tuple[Side, Side], points: float) -> float:
        """Return what a game adds to W − L of θ⁺ against θ⁻: 1, 0 or −1.

        points  of the player that moved first, 1, ½ or 0
        """
        own = sides[0] if sides[0] != "=" else sides[1]
        won = 2 * points - 1 if sides[0] != "=" else 1 - 2 * points
        return won if own == "+" else -won

    @property
    def told(self) -> float:
        """Games of θ⁺ against θ⁻ that an iteration comes to: two against a reference are
        one."""
        return self.size if self.pairing == "self_play" else self.size / 2

    def game_id(self, iteration: int, game: int, iterations: int) -> str:
        """Return a game's id: ids sort as the games are given out."""
        number = f"{iteration:0{len(str(iterations))}d}"
        if self.size <= 26:
            return f"{number}{'abcdefghijklmnopqrstuvwxyz'[game]}"
        return f"{number}_{game:0{len(str(self.size - 1))}d}"

    def _twos(self, iteration: int, game: int) -> int:
        """Return how many twos of games have come before a game's own."""
        return ((iteration - 1) * self.size + game) // 2


def rota(weights: Mapping[str, int]) -> tuple[str, ...]:
    """Return the opponents of consecutive openings, to be repeated: each as often as its
    weight, spread evenly."""
    total = sum(weights.values())
    credit = dict.fromkeys(weights, 0)
    order = []
    for _ in range(total):
        for code, weight in weights.items():
            credit[code] += weight
        following = max(credit, key=lambda code: credit[code])
        credit[following] -= total
        order.append(following)
    return tuple(order)
