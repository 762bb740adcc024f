"""The conditions that results hold under: for each player its engine as it names itself,
limits, hash and threads; the opening files; whether there are CPUs enough."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from ringmaster.competitions.competition import Competition
from ringmaster.errors import SettingError
from ringmaster.model.jobs import Task
from ringmaster.model.players import Player, describe_limits
from ringmaster.model.report import LEFT, RIGHT, Cell, Table, Text
from ringmaster.model.resources import HASH, given_option, threads_of
from ringmaster.model.results import CheckResult, EngineUsage, EvaluationResult, GameResult, Result
from ringmaster.storage.store import Store

#: Key of the store's note with what engines have reported.
NOTE = "engines"
#: Results that are looked through for engines where a status file has no such note.
_LAST = 1000


class EngineFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """The facts that an engine has reported of itself.

    name     with its version
    description  of its configuration, over GTP
    hash, threads  megabytes and threads after its player's options were set; None
             where it has no such option
    """

    name: str = ""
    description: str = ""
    hash: int | None = None
    threads: int | None = None


class Conditions:
    """The facts about a competition's engines, by the codes of `Competition.contestants`,
    and what reports say of it."""

    def __init__(self, competition: Competition) -> None:
        self._competition = competition
        self._facts: dict[str, EngineFacts] = {}

    def restore(self, store: Store) -> None:
        """Read what a store has.  A file of an earlier version has results only."""
        note = store.note(NOTE)
        if note is not None:
            self._facts = msgspec.convert(note, dict[str, EngineFacts])
            return
        for recorded in store.games(max(0, sum(store.counts()) - _LAST)):
            try:
                codes = self._competition.describe(recorded.ticket).players
            except SettingError:  # a function of the control file fails
                return
            self._take_usage(zip(codes, recorded.result.usage, strict=True))

    def as_note(self) -> Any:
        """Return what `restore` reads."""
        return msgspec.to_builtins(self._facts)

    def take_check(self, result: CheckResult) -> None:
        """Learn from a player's startup check."""
        if result.problems:
            return
        code = self._competition.contestant_of(result.code)
        before = self._facts.get(code, EngineFacts())
        self._facts[code] = msgspec.structs.replace(
            before, name=result.name, hash=result.hash, threads=result.threads
        )

    def take(self, task: Task, result: Result) -> bool:
        """Learn from a result; returns whether there was something new."""
        usage = (result.usage,) if isinstance(result, EvaluationResult) else result.usage
        if isinstance(result, GameResult) and result.outcome == "void":
            return False
        return self._take_usage(zip(task.who, usage, strict=True))

    def _take_usage(self, used: Iterable[tuple[str, EngineUsage]]) -> bool:
        changed = False
        for player, usage in used:
            code = self._competition.contestant_of(player)
            before = self._facts.get(code, EngineFacts())
            # what candidates say of their configuration is another with each of them
            description = usage.description if code == player else ""
            if usage.name and (usage.name, description) != (before.name, before.description):
                self._facts[code] = msgspec.structs.replace(
                    before, name=usage.name, description=description
                )
                changed = True
        return changed

    def _rows(self) -> Iterator[tuple[Player, EngineFacts, int | None, int | None]]:
        """Yield the players with what is known of their engines, hash and threads."""
        for player in self._competition.contestants():
            facts = self._facts.get(player.code, EngineFacts())
            hash, threads = given_option(player, HASH), threads_of(player)
            megabytes = int(hash) if hash is not None and str(hash).isdecimal() else facts.hash
            yield player, facts, megabytes, facts.threads if threads is None else threads

    # what is told

    def blocks(self) -> list[Table | Text]:
        """Return the blocks of a report."""
        rows: list[tuple[Cell, ...]] = []
        lines = []
        for player, facts, hash, threads in self._rows():
            rows.append((player.code, facts.name, _limits(player), hash, threads))
        present = {row[0] for row in rows}
        # players whose matchups are not in the control file any more
        for code, facts in self._facts.items():
            if code not in present:
                rows.append((code, facts.name, None, None, None))
            if facts.description:
                lines.append(f"player {code}: {facts.description}")
        for place, openings in self._competition.openings().items():
            if not openings and self._competition.values["game"] == "go":
                continue
            of = f" of {place}" if place else ""
            lines.append(f"openings{of}: {', '.join(_words(openings)) or 'none'}")
        headers = ("player", "engine", "limits", "hash MB", "threads")
        filled = [i for i in range(len(headers)) if i < 2 or any(row[i] for row in rows)]
        table = Table(
            headers=tuple(headers[i] for i in filled),
            rows=tuple(tuple(row[i] for i in filled) for row in rows),
            align=tuple(RIGHT if i > 2 else LEFT for i in filled),
        )
        return [table, Text(tuple(lines))] if lines else [table]

    def summary(self) -> dict[str, Any]:
        """Return what `show --json` has of the conditions."""
        return {
            "players": [
                {
                    "code": player.code,
                    "engine": facts.name or None,
                    "description": facts.description or None,
                    "command": list(player.command),
                    "limits": {
                        "time_control": player.time_control and str(player.time_control),
                        "move_time": player.move_time,
                        "nodes": player.nodes,
                        "depth": player.depth,
                        "ponder": player.ponder,
                    },
                    "hash": hash,
                    "threads": threads,
                }
                for player, facts, hash, threads in self._rows()
            ],
            "openings": [
                {"of": place or None, "file": None, **openings}
                for place, openings in self._competition.openings().items()
            ],
        }

    # CPUs

    def crowding(self, parallel: int, cpus: int) -> str:
        """Return the warning that games at the same time need more CPUs than there are,
        "" when there are enough.

        parallel  games at a time
        cpus      CPUs that may be used
        """
        progress = self._competition.progress()
        if progress.total is not None and self._competition.unit == "games":
            parallel = min(parallel, max(1, progress.total - progress.completed))
        needed_codes = {
            self._competition.contestant_of(job.player.code)
            for job in self._competition.check_jobs()
        }
        known = [
            (threads or 1, player)
            for player, _, _, threads in self._rows()
            if player.code in needed_codes
        ]
        if not known or self._competition.finished():
            return ""
        by_threads = sorted(known, key=lambda each: -each[0])
        needed, hungriest = by_threads[0]
        ponders = any(player.ponder for _, player in known)
        if ponders:
            # both sides think at the same time
            needed += sum(count for count, _ in islice(by_threads, 1, 2)) or needed
        if needed * parallel <= cpus:
            return ""
        there = f"{cpus} CPU{'' if cpus == 1 else 's'} can be used here"
        unit = self._competition.unit
        many = f"{parallel} {unit} at a time need" if parallel > 1 else f"a {unit[:-1]} needs"
        why = []
        if by_threads[0][0] > 1:
            why.append(f"player {hungriest.code!r} has {by_threads[0][0]} threads")
        if ponders:
            why.append("both sides think at once where one ponders")
        because = f" ({' and '.join(why)})" if why else ""
        timed = any(p.time_control is not None or p.move_time is not None for _, p in known)
        effect = (
            "engines lose time on their clocks, and strength"
            if timed
            else "nothing becomes faster by it"
        )
        fits = cpus // needed
        remedy = f"-j {fits}" if fits else f"at most {cpus} threads an engine"
        if fits == 0 and ponders:
            remedy += ", or no pondering"
        return f"{many} {needed * parallel} CPUs{because}, and {there}: {effect}; use {remedy}"


def _limits(player: Player) -> str:
    return ", ".join(filter(None, (describe_limits(player), "ponders" if player.ponder else "")))


def _words(openings: Mapping[str, Any]) -> Iterator[str]:
    """Yield openings, as `Competition.openings` gives them, in words."""
    for name, value in openings.items():
        yield str(value) if name == "file" else f"{name} {value}"
