"""Report the conditions of results: engines with their settings, openings, and usable CPUs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import combinations
from typing import Any, Final

import msgspec

from ringmaster.competitions.competition import Competition, Contestant, Summary
from ringmaster.control.builds import Builds
from ringmaster.control.changes import SettingChange
from ringmaster.errors import EngineRebuilt, counted
from ringmaster.model.builds import Build
from ringmaster.model.go_rules import read_rules
from ringmaster.model.jobs import GameJob, Task
from ringmaster.model.players import HASH, Player, describe_limits, given_option, threads_of
from ringmaster.model.report import LEFT, Column, Listing, Table, Text
from ringmaster.model.results import CheckResult, EvaluationResult, HostTally, Result
from ringmaster.storage.store import Store

#: Key of the store's note with texts about hosts that are not used.
REFUSED_HOSTS = "refused hosts"
#: Key of the store's note with the other runs on the cluster.
SHARING = "sharing"

_PLAYERS: Final = (
    Column("code", "player", align=LEFT),
    Column("engine", "engine", align=LEFT),
    Column("build", "build", align=LEFT),
    Column("description"),
    Column("command"),
    Column("matchups"),
    Column("limits"),
    Column("all_limits", "limits", align=LEFT, in_data=False),
    Column("hash", "hash MB", int),
    Column("threads", "threads", int),
)


class ReportedConditions:
    """Collect facts about a competition's engines by the code of the contestant."""

    def __init__(
        self, competition: Competition, make_builds: Callable[..., Builds] = Builds
    ) -> None:
        self.competition = competition
        self._make_builds = make_builds
        #: Texts about hosts of a cluster that are not used.
        self.refused_hosts: list[str] = []
        #: How the run shares a cluster, or "".
        self.sharing = ""
        self._hosts: dict[str, HostTally] = {}
        #: Rules of Go by the engines' own word, by player.
        self._rules: dict[str, dict[str, Any]] = {}

    @cached_property
    def builds(self) -> Builds:
        return self._builds()

    def _builds(self, *recorded: Any) -> Builds:
        return self._make_builds([each.player for each in self._summary.contestants], *recorded)

    def restore_builds(self, store: Store) -> None:
        """Read the recorded builds, and compare the present files with them."""
        self.builds = self._builds(store.builds(), store.games_of_builds(), store.counts()[0])

    def restore(self, store: Store) -> None:
        """Read the facts from a store."""
        self._hosts = {tally.name: tally for tally in store.hosts()}
        self.refused_hosts = store.read_value(REFUSED_HOSTS, list[str]) or []
        self.sharing = store.read_value(SHARING, str) or ""
        self.restore_builds(store)

    def facts(self, code: str) -> Build:
        """Return the known facts about the engine of a player of games."""
        is_known = self.builds.of(code) or code in self.builds.current
        return self.builds.shown(code if is_known else self.contestant(code))

    def take_check(self, result: CheckResult) -> SettingChange | None:
        """Record the facts of a startup check; return a refused change of the engine's name."""
        if result.problems:
            return None
        self._rules[result.code] = read_rules(result.rules)
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
        present = []
        for player, used in zip(players, usage, strict=True):
            code = self.contestant(player.code)
            # each candidate has another description
            is_described = code == player.code and used.description
            facts = {"description": used.description} if is_described else {}
            is_own = self.builds.is_own(code, player)
            change = self.builds.report(code, used.name, is_own=is_own, **facts)
            if change is not None:
                raise EngineRebuilt(change.what, player.code)
            present.append(self.builds.number(code, now))
        if isinstance(task, GameJob) and task.settings.referee is not None:
            present.append(self.builds.number(task.settings.referee.code, now))
        numbers = tuple(number for number, _ in present[: len(players)])
        new = [(number, build) for number, build in present if build is not None]
        return msgspec.structs.replace(result, builds=numbers), new

    def take(self, result: Result) -> None:
        """Count a stored result."""
        if result.host is not None:
            name = result.host.name
            self._hosts.setdefault(name, HostTally(name)).take(result)
        self.builds.games.update({number for number in result.builds if number is not None})

    @cached_property
    def _summary(self) -> Summary:
        # contestants and their codes depend on the settings only
        return self.competition.summary(live=True)

    def contestant(self, code: str) -> str:
        """Return the code in reports of a player of a job."""
        return self._summary.contestant_of(code)

    def _threads(self, player: Player) -> int | None:
        threads = threads_of(player)
        return self.builds.shown(player.code).threads if threads is None else threads

    # reports

    def _player(self, contestant: Contestant) -> dict[str, Any]:
        """Return a row of the listing of players."""
        player, ids, clock = contestant.player, contestant.matchups, contestant.clock
        facts, hash = self.builds.shown(player.code), given_option(player, HASH)
        limits = ", ".join(
            filter(None, (clock or describe_limits(player), "ponders" if player.ponders else ""))
        )
        if ids:
            limits += f" (matchup{'s' if len(ids) > 1 else ''} {', '.join(ids)})"
        return {
            "code": player.code,
            "engine": facts.name or None,
            "build": facts.label or None,
            "description": facts.description or None,
            "command": list(player.command),
            "matchups": list(ids) or None,
            "limits": {
                "time_control": clock or (player.time_control and str(player.time_control)),
                "move_time": player.move_time,
                "nodes": player.nodes,
                "depth": player.depth,
                "visits": player.visits,
                "playouts": player.playouts,
                "ponder": player.ponders,
            },
            "all_limits": limits or None,
            "hash": int(hash) if hash is not None and str(hash).isdecimal() else facts.hash,
            "threads": self._threads(player),
        }

    def blocks(self, summary: Summary) -> list[Table | Text]:
        players = {each.player.code: self._player(each) for each in summary.contestants}
        recorded = [build.player for build in self.builds.recorded.values()]
        lines = []
        for code in dict.fromkeys([*players, *self.builds.current, *recorded]):
            facts = self.builds.shown(code)
            # players of matchups that were removed from the control file, too
            known = {"code": code, "engine": facts.name or None, "build": facts.label or None}
            players.setdefault(code, known)
            about = (facts.description, facts.source and str(facts.source))
            lines += [f"player {code}: {line}" for line in about if line]
        for place, openings in summary.openings.items():
            if not openings and self.competition.values["game"] == "go":
                continue
            source = f"openings of {place}" if place else "openings"
            lines.append(f"{source}: {', '.join(_words(openings)) or 'none'}")
        lines += self._build_lines()
        sharing = [self.sharing] if self.sharing else []
        texts = [Text(tuple(part)) for part in (lines, [*self.refused_hosts, *sharing]) if part]
        hosts = [self._host_listing().table()] if self._hosts else []
        return [Listing(_PLAYERS, tuple(players.values())).table(), *texts[:1], *hosts, *texts[1:]]

    def _build_lines(self) -> Iterator[str]:
        """Yield a line on each build of players with several."""
        for number, build in self.builds.recorded.items():
            if len(self.builds.of(build.player)) > 1:
                games, unit = self.builds.games[number], self.competition.unit.removesuffix("s")
                # a referee has none of its own
                played = f": {counted(games, unit)}" if games else ""
                since = time.strftime("%Y-%m-%d %H:%M", time.localtime(build.first_seen))
                known = " ".join(filter(None, (build.label, build.name)))
                yield f"player {build.player}, build {number} ({known}){played} since {since}"

    def _host_listing(self) -> Listing:
        unit = self.competition.unit
        columns = (
            Column("name", "host", align=LEFT),
            Column(unit, unit, int),
            Column("time_losses", "time losses", int),
            Column("faults", "faults", int),
            Column("load", "load", "{:.2f}".format),
            Column("speed", "speed", "{:.2f}".format),
        )
        rows = [
            {
                **msgspec.structs.asdict(tally),
                unit: tally.results,
                "load": tally.load / tally.results,
            }
            for _, tally in sorted(self._hosts.items())
        ]
        return Listing(columns, tuple(rows))

    def data(self, summary: Summary) -> dict[str, Any]:
        """Return the conditions for `show --json`."""
        return {
            "players": Listing(_PLAYERS, tuple(map(self._player, summary.contestants))).data(),
            "builds": [
                {
                    "player": build.player,
                    "number": number,
                    "engine": build.name or None,
                    "files": {name: sum.sha256 for name, sum in build.files.items()},
                    "games": self.builds.games[number],
                    "first_seen": build.first_seen,
                    "source": build.source and msgspec.structs.asdict(build.source),
                }
                for number, build in self.builds.recorded.items()
            ],
            "refused_hosts": self.refused_hosts,
            "sharing": self.sharing or None,
            "hosts": self._host_listing().data(),
            "openings": [
                {"of": place or None, "file": None, **openings}
                for place, openings in summary.openings.items()
            ],
        }

    # CPUs

    def rules_conflict(self) -> str:
        """Return a warning if the engines' own words on the rules of Go differ, else ""."""
        for (first, one), (second, other) in combinations(self._rules.items(), 2):
            parts = [f"{k} {one[k]} and {other[k]}" for k in one if other.get(k, one[k]) != one[k]]
            if parts:
                return (
                    f"{first} and {second} play by different rules of Go ({', '.join(parts)}); "
                    "tell them the same, as in rules = 'chinese'"
                )
        return ""

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
        players = [each.player for each in summary.contestants]
        by_threads = sorted(
            ((self._threads(p) or 1, p) for p in players if p.code in needed_codes),
            key=lambda row: -row[0],
        )
        if not by_threads or self.competition.finished():
            return ""
        threads, first = by_threads[0]
        # where one side ponders, both think at the same time
        largest, second = (by_threads * 2)[:2]
        partners = ((second if row is largest else largest)[0] for row in by_threads)
        together = [n + m for (n, p), m in zip(by_threads, partners, strict=True) if p.ponders]
        game_cpus = max([threads, *together])
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
        if game_cpus > threads:
            reasons.append("both sides think at the same time where one ponders")
        cause = f" ({' and '.join(reasons)})" if reasons else ""
        is_timed = any(p.time_control is not None or p.move_time is not None for _, p in by_threads)
        effect = "engines lose time and strength" if is_timed else "games do not end sooner"
        most = cpus // game_cpus
        remedy = f"-j {most}" if most else f"at most {cpus} threads an engine"
        if not most and together:
            remedy += ", or no pondering"
        usable = f"{cpus} CPU{' is' if cpus == 1 else 's are'} usable"
        return f"{games} {game_cpus * parallel} CPUs{cause}, but {usable}: {effect}; use {remedy}"


def _words(openings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values of `Competition.openings` in words."""
    for name, value in openings.items():
        yield str(value) if name == "file" else f"{name} {value}"
