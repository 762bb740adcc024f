"""Schedule the games of a tournament: turns of matchups, openings of pairs, waiting matchups.

With `policy = "round"`, pair n of every matchup has opening n.  With `policy = "encounter"`,
every pair has the next opening of the book, in the order of issue.  The tickets record these
numbers, since matchups may be added between runs or end early.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.tally import FaultWatch, base_code, fault_rule, remedies
from ringmaster.competitions.tournaments.matchup import Matchup
from ringmaster.errors import SettingError, counted, nearest, shown
from ringmaster.model.jobs import Ticket
from ringmaster.model.results import GameResult
from ringmaster.model.settings import Identifier, ListOf, Setting, SettingPath

WITHDRAWN_SETTING = Setting(
    "withdrawn",
    ListOf(Identifier()),
    "Codes of players that stop playing.  Their results stay in the tables; they may come back.",
    (),
)


def strangers(
    values: Mapping[str, Any], anchors: Collection[str], codes: Collection[str]
) -> list[SettingError]:
    """Return errors for an anchor not in `anchors`, and withdrawn players not in `codes`."""
    named: list[tuple[SettingPath, str, Collection[str]]] = [
        (("withdrawn", i), code, codes) for i, code in enumerate(values["withdrawn"])
    ]
    if values["anchor"] is not None:
        named.append((("anchor",), values["anchor"].code, anchors))
    return [
        SettingError(path, f"{shown(code)} does not take part", nearest(code, [*known]))
        for path, code, known in named
        if code not in known
    ]


class Turns:
    """A queue of matchups, the one with the fewest issued games first (Gomill).

    Ties keep the given order.  The cost of a game does not depend on the number of matchups.
    A matchup that wants no more games, or waits, leaves the queue.
    """

    def __init__(self, matchups: Iterable[Matchup], holds: Holds) -> None:
        self._holds = holds
        # outdated numbers are corrected at the top of the heap
        self._heap = [(m.tally.next, place, m) for place, m in enumerate(matchups)]
        heapq.heapify(self._heap)

    def first(self) -> Matchup | None:
        """Return the matchup of the next game, None when none wants more."""
        while self._heap:
            number, place, matchup = self._heap[0]
            if matchup.id in self._holds or not matchup.wants_more():
                heapq.heappop(self._heap)
            elif matchup.tally.next != number:
                heapq.heapreplace(self._heap, (matchup.tally.next, place, matchup))
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


class OpeningNumbers(msgspec.Struct):
    """Numbers of openings by encounter.

    last  the latest game of each matchup
    """

    last: dict[str, Drawn] = {}

    def register(self, ticket: Ticket) -> None:
        """Register an issued game of this run or an earlier one."""
        last = self.last.get(ticket["m"])
        if "n" in ticket and (last is None or ticket["i"] >= last.game):
            self.last[ticket["m"]] = Drawn(ticket["i"], unit_of(ticket), ticket["n"])

    def of_pair(self, ticket: Ticket) -> int | None:
        """Return the opening's number of the first game of a ticket's pair."""
        last = self.last.get(ticket["m"])
        return last.number if last is not None and last.unit == unit_of(ticket) else None

    def next(self, sharing: Iterable[tuple[str, int]]) -> int:
        """Return the first unused number of a book.

        sharing  ids of the matchups with this book, and their numbers of openings by round
        """
        number = 0
        for id, openings in sharing:
            last = self.last.get(id)
            number = max(number, openings, 0 if last is None else last.number + 1)
        return number


class Holds:
    """Matchups that wait for the next run because of faults; no part of the state."""

    def __init__(self) -> None:
        #: Cause, reason of its last game and faulty player ("" for none), by matchup id.
        self._causes: dict[str, tuple[str, str, str]] = {}

    def __contains__(self, id: str) -> bool:
        return id in self._causes

    def lines(
        self, waiting: Mapping[str, tuple[int, int | None]], withdrawn: Sequence[str], *, void: bool
    ) -> list[str]:
        """Return a line for each cause of waiting, and the remedies last; [] without any.

        waiting  games played and wanted by matchup
        """
        lines: list[str] = []
        broken: dict[str, str] = {}
        for cause in dict.fromkeys(self._causes.values()):
            matchups = [waiting[id] for id in waiting if self._causes[id] == cause]
            if not matchups:
                continue
            left = [0 if total is None else total - played for played, total in matchups]
            count = counted(len(left), "matchup")
            why, reason, player = cause
            games = counted(sum(left), "game") if all(left) else "games"
            lines.append(f"{why} ({reason}): {games} of {count} wait")
            broken.setdefault(player, reason)
        return [*lines, remedy(broken, withdrawn, void=void)] if lines else []

    def record_result(
        self,
        watch: FaultWatch,
        id: str,
        codes: tuple[str, str],
        result: GameResult,
        matchups: Mapping[str, Matchup],
    ) -> str:
        """Update the watch after a result.  Return a warning if matchups must wait, else "".

        codes     the players in the order of the result
        matchups  every matchup of the control file, by id
        """
        bases = [base_code(code) for code in codes]
        cause = watch.record(result, bases, id)
        cause = cause and f"matchup {id}: {cause}"
        waiting = [id] if cause and id in matchups else []
        player = "" if result.faulty is None else bases[result.faulty]
        stopped = fault_rule(watch.players.get(player, ""))
        if stopped:
            cause = f"player {player}: {stopped}"
            waiting = [i for i, m in matchups.items() if player in map(base_code, m.codes)]
        waiting = [i for i in waiting if i not in self._causes]
        if not waiting:
            return ""
        self._causes |= dict.fromkeys(waiting, (cause, result.reason, player))
        return f"{cause} ({result.reason}); its other games wait until the next run"


def remedy(broken: Mapping[str, str], withdrawn: Sequence[str], *, void: bool) -> str:
    """Return the user's choices after faults, by players at fault ("" for nobody) with reasons."""
    choices = {c: None for reason in broken.values() for c in remedies(reason, void)}
    players = list(filter(None, broken))
    if players:
        codes = json.dumps([*withdrawn, *players])
        choices[f"withdraw {' and '.join(players)} (withdrawn = {codes})"] = None
    return ", or ".join(choices)
