"""Report the conditions of results: engines with their settings, openings, and usable CPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import msgspec

from ringmaster.competitions.competition import Competition, Contestant, Summary
from ringmaster.model.jobs import Task
from ringmaster.model.players import HASH, describe_limits, given_option, threads_of
from ringmaster.model.report import LEFT, RIGHT, Cell, Table, Text
from ringmaster.model.results import (
    CheckResult,
    EvaluationResult,
    GameResult,
    HostTally,
    Result,
)
from ringmaster.storage.store import Store

#: Key of the store's note with the facts about engines.
NOTE = "engines"


class EngineFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Facts reported by an engine.

    name         with its version
    description  of its configuration (GTP)
    hash         megabytes after the player's options were set; None without such an option
    threads      the same for threads
    """

    name: str = ""
    description: str = ""
    hash: int | None = None
    threads: int | None = None


class ReportedConditions:
    """Collect facts about a competition's engines by the code of the contestant."""

    def __init__(self, competition: Competition) -> None:
        self.competition = competition
        self._facts: dict[str, EngineFacts] = {}
        self._hosts: dict[str, HostTally] = {}

    def restore(self, store: Store) -> None:
        """Read the facts from a store."""
        self._hosts = {tally.name: tally for tally in store.hosts()}
        self._facts = store.read_value(NOTE, dict[str, EngineFacts]) or {}

    def facts(self, code: str) -> EngineFacts:
        """Return the known facts about the engine of a player of games."""
        return self._facts.get(code) or self._facts.get(self._contestant(code), EngineFacts())

    def as_note(self) -> Any:
        """Return the store's note for `restore`."""
        return msgspec.to_builtins(self._facts)

    def take_check(self, result: CheckResult) -> None:
        """Record the facts of a startup check."""
        if result.problems:
            return
        code = self._contestant(result.code)
        before = self._facts.get(code, EngineFacts())
        self._facts[code] = msgspec.structs.replace(
            before, name=result.name, hash=result.hash, threads=result.threads
        )

    def take(self, task: Task, result: Result) -> bool:
        """Record the facts of a result; return whether a fact is new."""
        if result.host is not None:
            name = result.host.name
            self._hosts.setdefault(name, HostTally(name)).take(result)
        if isinstance(result, GameResult) and result.outcome == "void":
            return False
        usage = (result.usage,) if isinstance(result, EvaluationResult) else result.usage
        is_new = False
        for player, used in zip(task.who, usage, strict=True):
            code = self._contestant(player)
            before = self._facts.get(code, EngineFacts())
            # each candidate has another description
            description = used.description if code == player else ""
            if used.name and (used.name, description) != (before.name, before.description):
                self._facts[code] = msgspec.structs.replace(
                    before, name=used.name, description=description
                )
                is_new = True
        return is_new

    @cached_property
    def _contestant(self) -> Callable[[str], str]:
        """Return the code in reports of a player of a job."""
        return self.competition.summary(live=True).contestant_of

    def _rows(
        self, contestants: Iterable[Contestant]
    ) -> Iterator[tuple[Contestant, EngineFacts, int | None, int | None]]:
        """Yield contestants with the facts about their engines, hash in MB, and threads."""
        for contestant in contestants:
            player = contestant.player
            facts = self._facts.get(player.code, EngineFacts())
            hash, threads = given_option(player, HASH), threads_of(player)
            megabytes = int(hash) if hash is not None and str(hash).isdecimal() else facts.hash
            yield contestant, facts, megabytes, facts.threads if threads is None else threads

    # reports

    def blocks(self, summary: Summary) -> list[Table | Text]:
        """Return the blocks for a report."""
        rows: list[tuple[Cell, ...]] = []
        lines = []
        for contestant, facts, hash, threads in self._rows(summary.contestants):
            player, ids = contestant.player, contestant.matchups
            words = describe_limits(player), "ponders" if player.ponder else ""
            limits = ", ".join(filter(None, words))
            if ids:
                limits += f" (matchup{'s' if len(ids) > 1 else ''} {', '.join(ids)})"
            rows.append((player.code, facts.name, limits, hash, threads))
        present = {row[0] for row in rows}
        # players of matchups that were removed from the control file
        for code, facts in self._facts.items():
            if code not in present:
                rows.append((code, facts.name, None, None, None))
            if facts.description:
                lines.append(f"player {code}: {facts.description}")
        for place, openings in summary.openings.items():
            if not openings and self.competition.values["game"] == "go":
                continue
            source = f"openings of {place}" if place else "openings"
            lines.append(f"{source}: {', '.join(_words(openings)) or 'none'}")
        headers = ("player", "engine", "limits", "hash MB", "threads")
        columns = [i for i in range(len(headers)) if i < 2 or any(row[i] for row in rows)]
        table = Table(
            headers=tuple(headers[i] for i in columns),
            rows=tuple(tuple(row[i] for i in columns) for row in rows),
            align=tuple(RIGHT if i > 2 else LEFT for i in columns),
        )
        return [table, *([Text(tuple(lines))] if lines else []), *self._host_table()]

    def _host_table(self) -> list[Table]:
        """Return a table of the hosts of a cluster, [] without one."""
        hosts = sorted(self._hosts.values(), key=lambda tally: tally.name)
        has_speed = any(tally.speed is not None for tally in hosts)
        headers = ("host", self.competition.unit, "time losses", "faults", "load", "speed")
        rows = [
            (
                tally.name,
                tally.results,
                tally.time_losses,
                tally.faults,
                f"{tally.load / tally.results:.2f}",
                "" if tally.speed is None else f"{tally.speed:.2f}",
            )
            for tally in hosts
        ]
        width = len(headers) if has_speed else len(headers) - 1
        table = Table(
            headers=headers[:width],
            rows=tuple(row[:width] for row in rows),
            align=(LEFT, *[RIGHT] * (width - 1)),
        )
        return [table] if rows else []

    def data(self, summary: Summary) -> dict[str, Any]:
        """Return the conditions for `show --json`."""
        return {
            "players": [
                {
                    "code": contestant.player.code,
                    "engine": facts.name or None,
                    "description": facts.description or None,
                    "command": list(contestant.player.command),
                    "matchups": list(contestant.matchups) or None,
                    "limits": {
                        "time_control": contestant.player.time_control
                        and str(contestant.player.time_control),
                        "move_time": contestant.player.move_time,
                        "nodes": contestant.player.nodes,
                        "depth": contestant.player.depth,
                        "ponder": contestant.player.ponder,
                    },
                    "hash": hash,
                    "threads": threads,
                }
                for contestant, facts, hash, threads in self._rows(summary.contestants)
            ],
            "hosts": [
                {
                    "name": tally.name,
                    self.competition.unit: tally.results,
                    "time_losses": tally.time_losses,
                    "faults": tally.faults,
                    "load": tally.load / tally.results,
                    "speed": tally.speed,
                }
                for tally in self._hosts.values()
            ],
            "openings": [
                {"of": place or None, "file": None, **openings}
                for place, openings in summary.openings.items()
            ],
        }

    # CPUs

    def crowding(self, parallel: int, cpus: int) -> str:
        """Return a warning if simultaneous games need more CPUs than usable, else "".

        parallel  games at a time
        cpus      usable CPUs
        """
        summary = self.competition.summary(live=True)
        progress = summary.progress
        if progress.total is not None and self.competition.unit == "games":
            parallel = min(parallel, max(1, progress.total - progress.completed))
        needed_codes = {
            self._contestant(job.player.code) for job in self.competition.setup().checks
        }
        by_threads = sorted(
            (
                (threads or 1, each.player)
                for each, _, _, threads in self._rows(summary.contestants)
                if each.player.code in needed_codes
            ),
            key=lambda row: -row[0],
        )
        if not by_threads or self.competition.finished():
            return ""
        threads, first = by_threads[0]
        game_cpus = threads
        ponders = any(player.ponder for _, player in by_threads)
        if ponders:
            # both sides think at the same time
            game_cpus += by_threads[1][0] if len(by_threads) > 1 else threads
        if game_cpus * parallel <= cpus:
            return ""
        unit = self.competition.unit
        games = f"{parallel} {unit} at a time need" if parallel > 1 else f"a {unit[:-1]} needs"
        reasons = []
        if threads > 1:
            needy = {p.code: n for n, p in reversed(by_threads) if n > cpus} or {
                first.code: threads
            }
            reasons += [f"player {code!r} has {n} threads" for code, n in needy.items()]
        if ponders:
            reasons.append("both sides think at the same time where one ponders")
        cause = f" ({' and '.join(reasons)})" if reasons else ""
        is_timed = any(p.time_control is not None or p.move_time is not None for _, p in by_threads)
        effect = "engines lose time and strength" if is_timed else "games do not end sooner"
        most = cpus // game_cpus
        remedy = f"-j {most}" if most else f"at most {cpus} threads an engine"
        if not most and ponders:
            remedy += ", or no pondering"
        usable = f"{cpus} CPU{' is' if cpus == 1 else 's are'} usable"
        return f"{games} {game_cpus * parallel} CPUs{cause}, but {usable}: {effect}; use {remedy}"


def _words(openings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values of `Competition.openings` in words."""
    for name, value in openings.items():
        yield str(value) if name == "file" else f"{name} {value}"
