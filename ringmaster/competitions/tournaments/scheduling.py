"""Schedule the games of a tournament: turns of matchups, openings of pairs, waiting matchups.

With `policy = "round"`, pair n of every matchup has opening n.  With `policy = "encounter"`,
every pair has the next opening of the book, in the order of issue.  The tickets record these
numbers, since matchups may be added between runs or end early.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from ringmaster.competitions.result_lines import MOST_VOID, void_excess, void_reason, void_rule
from ringmaster.competitions.tournaments.matchup import Tally, base_code
from ringmaster.errors import SettingError, counted, nearest, shown
from ringmaster.model.jobs import Ticket
from ringmaster.model.results import GameResult
from ringmaster.model.settings import Identifier, ListOf, Setting

T = TypeVar("T")

WITHDRAWN_SETTING = Setting(
    "withdrawn",
    ListOf(Identifier()),
    "Codes of players that stop playing.  Their results stay in the tables; they may come back.",
    (),
)


def check_withdrawn(withdrawn: Sequence[str], codes: Collection[str]) -> list[SettingError]:
    """Return an error for each withdrawn player that does not take part."""
    return [
        SettingError(("withdrawn", i), f"{shown(code)} does not take part", nearest(code, [*codes]))
        for i, code in enumerate(withdrawn)
        if code not in codes
    ]


class Turns(Generic[T]):
    """A queue of matchups, the one with the fewest issued games first (Gomill).

    Ties keep the given order.  The cost of a game does not depend on the number of matchups.

    issued  returns a matchup's number of issued games, which never decreases
    wants   returns whether a matchup wants more games; False is final
    """

    def __init__(
        self, matchups: Iterable[T], issued: Callable[[T], int], wants: Callable[[T], bool]
    ) -> None:
        self._issued = issued
        self._wants = wants
        # outdated numbers are corrected at the top of the heap
        self._heap = [(issued(matchup), place, matchup) for place, matchup in enumerate(matchups)]
        heapq.heapify(self._heap)

    def first(self) -> T | None:
        """Return the matchup of the next game, None when none wants more."""
        while self._heap:
            number, place, matchup = self._heap[0]
            issued = self._issued(matchup)
            if not self._wants(matchup):
                heapq.heappop(self._heap)
            elif issued != number:
                heapq.heapreplace(self._heap, (issued, place, matchup))
            else:
                return matchup
        return None


class Drawn(msgspec.Struct, frozen=True):
    """The latest game of a matchup with an opening by encounter.

    game    its number in the matchup
    unit    number of its pair, or of the game without a pair
    number  number of its opening
    """

    game: int
    unit: int
    number: int


def unit_of(ticket: Ticket) -> int:
    """Return the number of a game's pair, or of the game without a pair."""
    unit: int = ticket["i"] if ticket["p"] is None else ticket["p"]
    return unit


class OpeningNumbers:
    """Numbers of openings by encounter, of the latest game of each matchup."""

    def __init__(self, state: Mapping[str, object] | None = None) -> None:
        self._last = msgspec.convert(state or {}, dict[str, Drawn])

    def state(self) -> dict[str, object]:
        """Return the state as JSON data."""
        state: dict[str, object] = msgspec.to_builtins(self._last)
        return state

    def register(self, ticket: Ticket) -> None:
        """Register an issued game of this run or an earlier one."""
        last = self._last.get(ticket["m"])
        if "n" in ticket and (last is None or ticket["i"] >= last.game):
            self._last[ticket["m"]] = Drawn(ticket["i"], unit_of(ticket), ticket["n"])

    def of_pair(self, ticket: Ticket) -> int | None:
        """Return the opening's number of the first game of a ticket's pair."""
        last = self._last.get(ticket["m"])
        return last.number if last is not None and last.unit == unit_of(ticket) else None

    def next(self, sharing: Iterable[tuple[str, int]]) -> int:
        """Return the first unused number of a book.

        sharing  ids of the matchups with this book, and their numbers of openings by round
        """
        number = 0
        for id, openings in sharing:
            last = self._last.get(id)
            number = max(number, openings, 0 if last is None else last.number + 1)
        return number


class Holds:
    """Matchups that wait for the next run because of void games.

    excess  of void games by a player's fault over its counted games lately, by player, over all
            matchups and runs (`result_lines.void_excess`); part of the state
    """

    def __init__(self, excess: Mapping[str, int] | None = None) -> None:
        self.excess = dict(excess or {})
        #: Reason and faulty player ("" for none), by matchup id.
        self._reasons: dict[str, tuple[str, str]] = {}

    def __contains__(self, id: str) -> bool:
        return id in self._reasons

    def release(self) -> None:
        """Release all matchups, at the start of a run."""
        self._reasons.clear()

    def lines(
        self,
        waiting: Mapping[str, tuple[int, int | None]],
        withdrawn: Sequence[str],
        *,
        may_lose: bool,
    ) -> list[str]:
        """Return a line for each reason of waiting, and the remedies last; [] without any.

        waiting    games played and wanted of the waiting matchups, by id
        withdrawn, may_lose  as in `remedy`
        """
        lines, broken = [], []
        for reason in dict.fromkeys(self._reasons.values()):
            matchups = [waiting[id] for id in waiting if self._reasons[id] == reason]
            if not matchups:
                continue
            left = [0 if total is None else total - played for played, total in matchups]
            count = counted(len(left), "matchup")
            why, player = reason
            games = counted(sum(left), "game") if all(left) else "games"
            lines.append(f"{why}: {games} of {count} wait")
            if player and player not in broken:
                broken.append(player)
        return [*lines, remedy(broken, withdrawn, may_lose=may_lose)] if lines else []

    def record_result(
        self,
        id: str,
        codes: tuple[str, str],
        result: GameResult,
        tallies: Mapping[str, Tally],
        opponents: Mapping[str, tuple[str, str]],
    ) -> str:
        """Update the state after a result.  Return a warning if matchups must wait, else "".

        codes      the players in the order of the result
        tallies    the results of every matchup by id, including this one
        opponents  the players of every matchup of the control file, by id
        """
        if result.outcome != "void":
            if self.excess:
                self._count(dict.fromkeys(map(base_code, codes)), result)
            return ""
        player, waiting = "", [id] if id in opponents else []
        tally = tallies[id]
        cause = void_rule(
            tally.void_excess, result, first=not tally.completed, what=f"matchup {id}"
        )
        if result.faulty is not None:
            player = base_code(codes[result.faulty])
            self._count([player], result)
            first = not any(t.completed for t in tallies.values() if t.has(player))
            if why := void_reason(self.excess[player], first=first):
                self.excess[player] = MOST_VOID
                cause = f"player {player} has {why}"
                waiting = [i for i, both in opponents.items() if player in map(base_code, both)]
        waiting = [i for i in waiting if i not in self._reasons]
        if not cause or not waiting:
            return ""
        reason = f"{cause} ({result.reason})"
        self._reasons |= dict.fromkeys(waiting, (reason, player))
        return f"{reason}; its other games wait until the next run"

    def _count(self, players: Iterable[str], result: GameResult) -> None:
        for player in players:
            before = self.excess.pop(player, 0)
            if after := void_excess(before, result):
                self.excess[player] = after

    def stopped(self) -> list[str]:
        """Return the players whose games wait, or would after another void game."""
        return [code for code, excess in self.excess.items() if excess >= MOST_VOID]


def remedy(broken: Sequence[str], withdrawn: Sequence[str], *, may_lose: bool) -> str:
    """Return the user's choices when games of some players, or of all, are void.

    withdrawn  players already withdrawn
    may_lose   whether failures during play could lose games instead
    """
    choices = [f"repair {' and '.join(broken) or 'the engines'} and run again"]
    if broken:
        codes = json.dumps([*withdrawn, *broken])
        choices.append(f"withdraw {'it' if len(broken) == 1 else 'them'} (withdrawn = {codes})")
    if may_lose:
        choices.append('have crashes and hangs lose the game (failures = "loss")')
    return ", or ".join(choices)
