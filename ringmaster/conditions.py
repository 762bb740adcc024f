"""Report the conditions of results: engines with their settings, openings, and usable CPUs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import msgspec

from ringmaster.competitions.competition import Competition, Contestant, Summary
from ringmaster.control.builds import Builds
from ringmaster.control.changes import SettingChange
from ringmaster.errors import EngineRebuilt, counted
from ringmaster.model.builds import Build
from ringmaster.model.jobs import GameJob, Task
from ringmaster.model.players import HASH, Player, describe_limits, given_option, threads_of
from ringmaster.model.report import LEFT, RIGHT, Cell, Table, Text
from ringmaster.model.results import CheckResult, EvaluationResult, HostTally, Result
from ringmaster.storage.store import Store

#: Key of the store's note with texts about hosts that are not used.
REFUSED_HOSTS = "refused hosts"


class ReportedConditions:
    """Collect facts about a competition's engines by the code of the contestant."""

    def __init__(
        self, competition: Competition, make_builds: Callable[..., Builds] = Builds
    ) -> None:
        self.competition = competition
        self._make_builds = make_builds
        #: Texts about hosts of a cluster that are not used.
        self.refused_hosts: list[str] = []
        self._hosts: dict[str, HostTally] = {}

    @cached_property
    def builds(self) -> Builds:
        """The builds of the contestants."""
        return self._make_builds(self._contestants)

    def restore_builds(self, store: Store) -> None:
        """Read the recorded builds, and compare the present files with them."""
        recorded = store.builds(), store.games_of_builds(), store.counts()[0]
        self.builds = self._make_builds(self._contestants, *recorded)

    def restore(self, store: Store) -> None:
        """Read the facts from a store."""
        self._hosts = {tally.name: tally for tally in store.hosts()}
        self.refused_hosts = store.read_value(REFUSED_HOSTS, list[str]) or []
        self.restore_builds(store)

    def facts(self, code: str) -> Build:
        """Return the known facts about the engine of a player of games."""
        is_known = self.builds.of(code) or code in self.builds.current
        return self.builds.shown(code if is_known else self.contestant(code))

    def take_check(self, result: CheckResult) -> SettingChange | None:
        """Record the facts of a startup check; return a refused change of the engine's name."""
        if result.problems:
            return None
        code, facts = self.contestant(result.code), {"hash": result.hash, "threads": result.threads}
        return self.builds.report(code, result.name, is_own=code == result.code, **facts)

    def identify(
        self, task: Task, result: Result, now: float
    ) -> tuple[Result, list[tuple[int, Build]]]:
        """Return a new result with the numbers of its builds, and new builds for the store.

        Raises EngineRebuilt.
        """
        if result.outcome == "void":
            return result, []
        players = task.players if isinstance(task, GameJob) else (task.player,)
        usage = (result.usage,) if isinstance(result, EvaluationResult) else result.usage
        numbers, new = [], []
        for player, used in zip(players, usage, strict=True):
            code = self.contestant(player.code)
            # each candidate has another description
            is_described = code == player.code and used.description
            facts = {"description": used.description} if is_described else {}
            is_own = self.builds.is_own(code, player)
            change = self.builds.report(code, used.name, is_own=is_own, **facts)
            if change is not None:
                raise EngineRebuilt(change.what, player.code)
            number, build = self.builds.number(code, now)
            numbers.append(number)
            new += [(number, build)] if build is not None else []
        return msgspec.structs.replace(result, builds=tuple(numbers)), new

    def take(self, result: Result) -> None:
        """Count a stored result."""
        if result.host is not None:
            name = result.host.name
            self._hosts.setdefault(name, HostTally(name)).take(result)
        self.builds.games.update({number for number in result.builds if number is not None})

    @cached_property
    def contestant(self) -> Callable[[str], str]:
        """Return the code in reports of a player of a job."""
        return self.competition.summary(live=True).contestant_of

    @cached_property
    def _contestants(self) -> list[Player]:
        return [each.player for each in self.competition.summary(live=True).contestants]

    def _rows(
        self, contestants: Iterable[Contestant]
    ) -> Iterator[tuple[Contestant, Build, int | None, int | None]]:
        """Yield contestants with the facts about their engines, hash in MB, and threads."""
        for contestant in contestants:
            player = contestant.player
            facts = self.builds.shown(player.code)
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
            rows.append((player.code, facts.name, facts.label, limits, hash, threads))
        present = [contestant.player.code for contestant in summary.contestants]
        recorded = [build.player for build in self.builds.recorded.values()]
        # players of matchups that were removed from the control file
        for code in dict.fromkeys([*present, *self.builds.current, *recorded]):
            facts = self.builds.shown(code)
            if code not in present:
                rows.append((code, facts.name, facts.label, None, None, None))
            if facts.description:
                lines.append(f"player {code}: {facts.description}")
        for place, openings in summary.openings.items():
            if not openings and self.competition.values["game"] == "go":
                continue
            source = f"openings of {place}" if place else "openings"
            lines.append(f"{source}: {', '.join(_words(openings)) or 'none'}")
        headers = ("player", "engine", "build", "limits", "hash MB", "threads")
        columns = [i for i in range(len(headers)) if i < 2 or any(row[i] for row in rows)]
        table = Table(
            headers=tuple(headers[i] for i in columns),
            rows=tuple(tuple(row[i] for i in columns) for row in rows),
            align=tuple(RIGHT if i > 3 else LEFT for i in columns),
        )
        lines += self._build_lines()
        texts = [Text(tuple(part)) for part in (lines, self.refused_hosts) if part]
        return [table, *texts[:1], *self._host_table(), *texts[1:]]

    def _build_lines(self) -> Iterator[str]:
        """Yield a line on each build of players with several."""
        for number, build in self.builds.recorded.items():
            if len(self.builds.of(build.player)) > 1:
                games = counted(self.builds.games[number], self.competition.unit.removesuffix("s"))
                since = time.strftime("%Y-%m-%d %H:%M", time.localtime(build.first_seen))
                known = " ".join(filter(None, (build.label, build.name)))
                yield f"player {build.player}, build {number} ({known}): {games} since {since}"

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
                    "build": facts.label or None,
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
            "builds": [
                {
                    "player": build.player,
                    "number": number,
                    "engine": build.name or None,
                    "files": {name: sum.sha256 for name, sum in build.files.items()},
                    "games": self.builds.games[number],
                    "first_seen": build.first_seen,
                }
                for number, build in self.builds.recorded.items()
            ],
            "refused_hosts": self.refused_hosts,
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
        needed_codes = {self.contestant(job.player.code) for job in self.competition.setup().checks}
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
