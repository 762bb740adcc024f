"""Matchups that wait for a later run, since games of one player are void again and again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ringmaster.competitions.matchup import base_code
from ringmaster.competitions.tally import Tally
from ringmaster.model.results import GameResult

#: Void games in a row after which a player's games wait, or those of a matchup where nobody
#: is at fault.
MOST = 2


class Holds:
    """Void games in a row by player, and the matchups that are held back for them.

    in_a_row  void games of a player at fault since its last game that counts, over all
              matchups and runs; part of the state
    """

    def __init__(self, in_a_row: Mapping[str, int] | None = None) -> None:
        self.in_a_row = dict(in_a_row or {})
        #: Why, and which player was at fault ("" when nobody), by matchup id.
        self._reasons: dict[str, tuple[str, str]] = {}

    def __contains__(self, id: str) -> bool:
        return id in self._reasons

    def __bool__(self) -> bool:
        return bool(self._reasons)

    def release(self) -> None:
        """Give every matchup another chance, as each run does."""
        self._reasons.clear()

    def lines(
        self,
        waiting: Mapping[str, tuple[int, int | None]],
        withdrawn: Sequence[str],
        *,
        may_lose: bool,
    ) -> list[str]:
        """Return a line for each reason why games wait, and the remedies last; [] when no
        games wait.

        waiting    games played and games wanted of the matchups that are held back, by id
        withdrawn, may_lose  as in `remedy`
        """
        lines, broken = [], []
        for reason in dict.fromkeys(self._reasons.values()):
            of_reason = [waiting[id] for id in waiting if self._reasons[id] == reason]
            if not of_reason:
                continue
            left = [0 if total is None else total - played for played, total in of_reason]
            matchups = "1 matchup" if len(left) == 1 else f"{len(left)} matchups"
            why, player = reason
            games = f"{sum(left)} games" if all(left) else "games"
            lines.append(f"{why}: {games} of {matchups} wait")
            if player and player not in broken:
                broken.append(player)
        return [*lines, remedy(broken, withdrawn, may_lose=may_lose)] if lines else []

    def take(
        self,
        id: str,
        codes: tuple[str, str],
        result: GameResult,
        tally: Tally,
        opponents: Mapping[str, tuple[str, str]],
    ) -> str:
        """Count a result that its matchup's tally has counted; returns a warning when it
        holds matchups back, else "".

        codes      the players in the order of the result
        opponents  players of every matchup of the control file, by id
        """
        if result.outcome != "void":
            if self.in_a_row:
                for code in codes:
                    self.in_a_row.pop(base_code(code), None)
            return ""
        what, player = "", ""
        held = [id] if id in opponents and tally.void_in_a_row >= MOST else []
        if held:
            what = f"matchup {id}: {tally.void_in_a_row}"
        if result.faulty is not None:
            player = base_code(codes[result.faulty])
            count = self.in_a_row[player] = self.in_a_row.get(player, 0) + 1
            if count >= MOST:
                what = f"player {player}: {count}"
                held = [i for i, both in opponents.items() if player in map(base_code, both)]
        held = [i for i in held if i not in self._reasons]
        if not held:
            return ""
        why = f"{what} void games in a row ({result.reason})"
        self._reasons |= dict.fromkeys(held, (why, player))
        return f"{why}; its other games wait until the next run"

    def stopped(self) -> dict[str, int]:
        """Return the players whose games wait or would, with their void games in a row."""
        return {code: count for code, count in self.in_a_row.items() if count >= MOST}


def remedy(broken: Sequence[str], withdrawn: Sequence[str], *, may_lose: bool) -> str:
    """Return the user's choices when games of some players, or of all, are void.

    withdrawn  players that are withdrawn already
    may_lose   whether failures during play could lose games instead
    """
    choices = [f"repair {' and '.join(broken) or 'the engines'} and run again"]
    if broken:
        listed = json.dumps([*withdrawn, *broken])
        choices.append(f"withdraw {'it' if len(broken) == 1 else 'them'} (withdrawn = {listed})")
    if may_lose:
        choices.append('have crashes and hangs lose the game (failures = "loss")')
    return ", or ".join(choices)
