"""Matchups that wait for a later run, since games of one player are void again and again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from ringmaster.competitions.matchup import base_code
from ringmaster.competitions.tally import Tally
from ringmaster.competitions.voids import void_rule
from ringmaster.model.results import GameResult

#: Void games in a row that hold a matchup back, whoever is at fault.
_SAME_MATCHUP = 2


class Holds:
    """Void games in a row by player, and the matchups that are held back for them.

    in_a_row  void games of a player at fault since its last game that counts, over all
              matchups and runs; part of the state
    """

    def __init__(self, in_a_row: Mapping[str, int] | None = None) -> None:
        self.in_a_row = dict(in_a_row or {})
        #: Why, and for which player ("" when the matchup is at fault), by matchup id.
        self._reasons: dict[str, tuple[str, str]] = {}

    def __contains__(self, id: str) -> bool:
        return id in self._reasons

    def __bool__(self) -> bool:
        return bool(self._reasons)

    def release(self) -> None:
        """Give every matchup another chance, as each run does."""
        self._reasons.clear()

    def lines(
        self, waiting: Mapping[str, tuple[int, int | None]], withdrawn: Sequence[str]
    ) -> list[str]:
        """Return a line for each reason why games wait, and the remedies last; [] when no
        games wait.

        waiting    games played and games wanted of the matchups that are held back, by id
        withdrawn  players that are withdrawn already
        """
        lines, broken = [], []
        for reason in dict.fromkeys(self._reasons.values()):
            of_reason = [waiting[id] for id in waiting if self._reasons[id] == reason]
            if not of_reason:
                continue
            left = [0 if total is None else total - played for played, total in of_reason]
            games = f"{sum(left)} games of " if all(left) else ""
            plural = "" if len(left) == 1 else "s"
            why, player = reason
            lines.append(
                f"{why}: {games}{len(left)} matchup{plural} wait{'s' if not plural else ''}"
            )
            if player:
                broken.append(player)
        return [*lines, remedy(broken, withdrawn)] if lines else []

    def take(
        self,
        id: str,
        codes: tuple[str, str],
        result: GameResult,
        tallies: Mapping[str, Tally],
        opponents: Mapping[str, tuple[str, str]],
    ) -> str:
        """Count a result that `tallies` have counted; returns a warning when it holds
        matchups back, else "".

        codes      the players in the order of the result
        opponents  players of every matchup of the control file, by id
        """
        if result.outcome != "void":
            if self.in_a_row:
                for code in codes:
                    self.in_a_row.pop(base_code(code), None)
            return ""
        why, player, held = "", "", [id] if id in opponents else []
        if result.faulty is not None:
            player = base_code(codes[result.faulty])
            self.in_a_row[player] = self.in_a_row.get(player, 0) + 1
            why = self.stopped(player, tallies.values())
        if why:
            held = [i for i, both in opponents.items() if player in map(base_code, both)]
        elif tallies[id].void_in_a_row >= _SAME_MATCHUP:
            why, player = void_rule(_SAME_MATCHUP, first=False, what=f"matchup {id}"), ""
        held = [i for i in held if i not in self._reasons]
        if not why or not held:
            return ""
        why = f"{why} ({result.reason})"
        self._reasons |= dict.fromkeys(held, (why, player))
        return f"{why}: its games wait until the next run"

    def stopped(self, player: str, tallies: Iterable[Tally]) -> str:
        """Return why a player's games wait or would, "" if they do not."""
        proven = any(t.completed and player in map(base_code, t.players) for t in tallies)
        in_a_row = self.in_a_row.get(player, 0)
        return void_rule(in_a_row, first=not proven, what=f"player {player}")


def remedy(broken: Sequence[str], withdrawn: Sequence[str]) -> str:
    """Return the user's choices when games of some players, or of all, are void.

    withdrawn  players that are withdrawn already
    """
    who = " and ".join(broken) or "the engines"
    withdraw = ""
    if broken:
        listed = json.dumps([*withdrawn, *broken])
        withdraw = f"withdraw {'it' if len(broken) == 1 else 'them'} (withdrawn = {listed}), or "
    return (
        f"repair {who} and run again, {withdraw}have crashes and hangs lose the game "
        '(failures = "loss")'
    )
