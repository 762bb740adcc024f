"""Which opening of its book each pair of games of a tournament begins with.

By rounds, pair n of every matchup has opening n, so that all play the same.  By
encounters, every pair has the next opening that no pair of a matchup with the same
book has had, in the order in which games are given out.  That number cannot be
computed from the pair's, since matchups are added between runs and end early, so
it is part of the game's ticket; what is kept here is the last one of each matchup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from ringmaster.model.jobs import Ticket


class Drawn(msgspec.Struct, frozen=True):
    """What the latest game of a matchup that was given a number of its own had.

    game    its number in the matchup
    unit    its pair, or the game's own number where it was in none
    number  the opening's
    """

    game: int
    unit: int
    number: int


def unit_of(ticket: Ticket) -> int:
    """Return the number of a game's pair, or its own if it is in none."""
    unit: int = ticket["i"] if ticket["p"] is None else ticket["p"]
    return unit


class OpeningNumbers:
    """The numbers given out, by matchup; the size does not grow with the games."""

    def __init__(self, state: Mapping[str, object] | None = None) -> None:
        self._last = msgspec.convert(state or {}, dict[str, Drawn])

    def state(self) -> dict[str, object]:
        """Return what a later run begins with."""
        found: dict[str, object] = msgspec.to_builtins(self._last)
        return found

    def know(self, ticket: Ticket) -> None:
        """Take notice of a game that has been given out, in this run or another."""
        last = self._last.get(ticket["m"])
        if "n" in ticket and (last is None or ticket["i"] >= last.game):
            self._last[ticket["m"]] = Drawn(ticket["i"], unit_of(ticket), ticket["n"])

    def of_its_pair(self, ticket: Ticket) -> int | None:
        """Return the number that the first game of a pair was given for both."""
        last = self._last.get(ticket["m"])
        return last.number if last is not None and last.unit == unit_of(ticket) else None

    def next(self, sharing: Iterable[tuple[str, int]]) -> int:
        """Return the first number that no matchup of a book has had.

        sharing  ids of the matchups, with the pairs that they have begun: played by
                 rounds, these had the openings of their own numbers
        """
        taken = 0
        for id, pairs in sharing:
            last = self._last.get(id)
            taken = max(taken, pairs, 0 if last is None else last.number + 1)
        return taken
