"""The tickets of a tune's games: which game of which iteration, and what is played in it.

k  the iteration                      g  the game's number in it, from 0
d  θ⁺ and θ⁻ as `played` has them     n  games of the iteration, where they are not 2
p, m  θ⁺ and θ⁻ instead of d          l  the layout that the values are of, where not 0
r  the code of the opponent, where there are several

p and m are those of earlier versions, and of iterations that go on after an edit of the
parameters.
"""

from __future__ import annotations

import msgspec

from ringmaster.competitions.spsa.edits import Past
from ringmaster.competitions.spsa.pairing import Games, Side
from ringmaster.competitions.spsa.played import Grid, Numbers, decode
from ringmaster.competitions.spsa.state import Iteration
from ringmaster.model.jobs import Ticket


class Tickets(msgspec.Struct, frozen=True):
    """Makes and reads the tickets of a tune.

    games  those of the iterations to come
    grid   what their values are on
    """

    past: Past
    games: Games
    grid: Grid

    def make(self, k: int, game: int, iteration: Iteration) -> Ticket:
        """Return a game's ticket: what is played, and what is not as usual."""
        ticket: Ticket = {"k": k, "g": game}
        if iteration.layout == len(self.past.layouts) - 1:
            ticket["d"] = self.grid.encode(iteration.plus, iteration.minus)
        else:
            # of a time when the parameters were others
            ticket["p"], ticket["m"] = iteration.plus, iteration.minus
        if iteration.size != 2:
            ticket["n"] = iteration.size
        if iteration.layout:
            ticket["l"] = iteration.layout
        return ticket

    def iteration(self, ticket: Ticket) -> Iteration:
        """Return a game's iteration before any of its results."""
        plus, minus = self._values(ticket)
        return Iteration(plus, minus, size=ticket.get("n", 2), layout=ticket.get("l", 0))

    def sides(self, ticket: Ticket) -> tuple[Side, Side]:
        """Return the sides of a game, the one that moves first first."""
        size = ticket.get("n", 2)
        games = self.games if size == self.games.size else Games(self.games.pairing, size)
        return games.sides(ticket["k"], ticket["g"])

    def values(self, ticket: Ticket, side: Side) -> dict[str, int | float]:
        """Return what a side of a game plays with, by code, {} for the opponent: those of
        the parameters of its time, in the order in which they came into the tune."""
        if side == "=":
            return {}
        plus, minus = self._values(ticket)
        layout = self.past.layouts[ticket.get("l", 0)]
        named = layout.named(plus if side == "+" else minus)
        return {code: named[code] for code in self.past.slots if code in named}

    def _values(self, ticket: Ticket) -> tuple[Numbers, Numbers]:
        if "p" in ticket:
            return ticket["p"], ticket["m"]
        return decode(ticket["d"], self.past.layouts[ticket.get("l", 0)])
