"""The hosts of a cluster: who they are, whether they may play, how fast and how busy they are."""

from __future__ import annotations

import platform
import statistics
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping

import msgspec

from ringmaster.errors import ExecutorError, counted
from ringmaster.execution import shipping
from ringmaster.execution.dask_link import DaskLink, Prepared, Upkeep
from ringmaster.execution.dask_protocol import Assignment, HostFacts
from ringmaster.execution.executor import Tokens
from ringmaster.model.builds import files_of
from ringmaster.model.cluster import Cluster, Host
from ringmaster.model.jobs import CheckJob, GameJob, GameSettings, Job
from ringmaster.model.players import GameName, Player, threads_of
from ringmaster.model.results import FAULTS, TIME_LOSSES, CheckResult, GameResult, JobResult

#: The version of Python on this machine.
HERE = platform.python_version()
#: Shorter jobs share a task that takes so many seconds; longer ones have a task each.
TASK_SECONDS = 0.25
#: Jobs of one task, at most.
TASK_JOBS = 2000
#: Seconds of work that wait at a host beyond its slots, if the competition allows it.
AHEAD_SECONDS = 0.5
#: Weight of a new duration in the mean duration of a host's jobs.
_WEIGHT = 0.3
#: Answers of a host before jobs wait at it.
_FEW = 3
#: Seconds after which a host that plays is measured again.
RENEWAL = 1800.0
#: Seconds after a measurement that the mean load needs to be steady, and a change that matters.
SETTLING, CHANGE = 180.0, 0.25
#: Failures of the network while a host is prepared, before that is reported.
_MANY_CUTS = 3
#: The last texts about hosts that the run could not start.
_LAST_TROUBLES = 10
#: Games are sent to a host that has time for so many mean ones before it leaves.
_TIME = 1.5
#: The chance, over all hosts of a run, that a healthy host is taken for a bad one at a fault.
CHANCE = 1e-4
#: Faults of engines below which no host is judged.
FEWEST_FAULTS = 3


class ClusterHost:
    """One worker of a cluster, as a run knows it.

    machine  its name without the number of the worker
    state  "new", "preparing", "calibrating", "ready", or "out": it gets no more jobs
    tasks  numbers of the jobs of each task in progress, and the speed when they began, by key
    jobs   in progress, with those that wait at the host
    pace   mean seconds of a game or shard, None before the first
    speed  as in `model.cluster.Host`
    measured  when its speed was last measured (monotonic)
    load      soon after that (see `model.cluster.Host`), None before
    files  how many of the run's files it has
    cuts   how often the network failed while it was prepared
    leaves  when it leaves (monotonic), None for never
    tokens  held by its jobs
    """

    def __init__(self, address: str, id: str, resources: Mapping[str, int] = {}) -> None:
        self.address = address
        self.id = id
        self.name = address
        self.machine = ""
        self.state = "new"
        self.slots = 0
        self.tasks: dict[str, tuple[list[int], float | None]] = {}
        self.jobs = 0
        self.pace: float | None = None
        self._paces = 0
        self.speeds: list[float] = []
        self.speed: float | None = None
        self.measured = 0.0
        self.load: float | None = None
        self.files = 0
        self.cuts = 0
        self.leaves: float | None = None
        self.tokens = Tokens(resources)

    def together(self) -> int:
        """Return how many jobs its next task should have: together they end as the last does."""
        is_short = self.pace is not None and self.pace <= TASK_SECONDS
        return max(1, self._in(TASK_SECONDS)) if is_short else 1

    def ahead(self) -> int:
        """Return how many jobs may wait at the host beyond its slots."""
        return self._in(AHEAD_SECONDS) if self._paces >= _FEW else 0

    def has_time(self) -> bool:
        """Return whether a game would end before the host leaves."""
        return self.leaves is None or (self.pace or 0) * _TIME < self.leaves - time.monotonic()

    def _in(self, seconds: float) -> int:
        """Return how many jobs the host does in a time, at most TASK_JOBS."""
        if self.pace is None:
            return 0
        return min(TASK_JOBS, int(self.slots * seconds / max(self.pace, 1e-6)))

    def take_pace(self, seconds: float) -> None:
        """Take the duration of a game or shard."""
        self._paces += 1
        mean = seconds if self.pace is None else self.pace
        self.pace = mean + _WEIGHT * (seconds - mean)

    def for_speed(self, job: Job) -> Job:
        """Return a job with time controls for the host's speed."""
        if self.speed is None or not isinstance(job, GameJob):
            return job
        first, second = (_slowed(player, 1 / self.speed) for player in job.players)
        return msgspec.structs.replace(job, players=(first, second))


class Health:
    """Games and faults of engines by host: whether one has more faults than chance allows."""

    def __init__(self) -> None:
        self._games: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()

    def take(self, host: str, result: GameResult) -> str:
        """Record a game; return why its host is bad, or ""."""
        is_fault = result.reason in FAULTS or result.reason in TIME_LOSSES
        self._games[host] += 1
        self._faults[host] += is_fault
        games, faults = self._games[host], self._faults[host]
        if not is_fault or faults < FEWEST_FAULTS or len(self._games) == 1:
            return ""
        all_games, all_faults = self._games.total(), self._faults.total()
        # imported here: its import takes long, and few runs need it
        from scipy.stats import hypergeom

        # Fisher's exact test, one-sided: faults fall on games at random
        chance = hypergeom.sf(faults - 1, all_games, all_faults, games)
        if chance > CHANCE / len(self._games):
            return ""
        return (
            f"{faults} of its {counted(games, 'game')} had an engine that lost on time, crashed "
            f"or hung, and {all_faults - faults} of {all_games - games} elsewhere"
        )


class Hosts:
    """The hosts of a run.

    link     the connection to them
    orders   of the run
    builds   SHA-256 of files that the players name, by name, as far as they are known here
    notices  as in `Executor.notices`, since they were last taken
    failure  the reason why no host can play, once there is none
    """

    def __init__(
        self, link: DaskLink, orders: Assignment, cluster: Cluster, builds: Mapping[str, str] = {}
    ) -> None:
        players = orders.players
        self._link = link
        self.orders = orders
        self._threads = max((threads_of(player) or 1 for player in players), default=1)
        self._calibration = calibration = cluster.calibrate
        self._timed = next(
            (p for p in players if calibration and p.code == calibration.player), None
        )
        self._by_address: dict[str, ClusterHost] = {}
        self.notices: list[tuple[str, bool]] = []
        self.failure: ExecutorError | None = None
        #: Texts about hosts that are not used.
        self.refusals: dict[str, None] = {}
        self._waits = False
        #: Hosts that the run itself starts.
        self._wanted = len(cluster.options.get("hosts", ())) or cluster.options.get("jobs", 0)
        self._patience = cluster.wait_for_hosts
        self._resources = cluster.resources
        #: Since when there is no host (monotonic).
        self._alone: float | None = None
        self._queued = 0
        self._troubles: deque[str] = deque(maxlen=_LAST_TROUBLES)
        self._health = Health()
        #: The SHA-256 that each file must have, and where it has it.
        self._expected = {name: (sum, "in this competition") for name, sum in builds.items()}
        needed = {name for player in players for name in files_of(player)}
        #: Files that every host must have under the same path.
        self._needed = [n for n in builds if n in needed]
        #: Prepared hosts that wait for others: together they tell which files are right.
        self._waiting: dict[ClusterHost, HostFacts] = {}

    def all(self) -> list[ClusterHost]:
        """Return every host, usable or not."""
        return list(self._by_address.values())

    def _usable(self) -> list[ClusterHost]:
        return [host for host in self._by_address.values() if host.state != "out"]

    def ready(self) -> list[ClusterHost]:
        """Return the hosts that get jobs."""
        hosts = self._by_address.values()
        return [host for host in hosts if host.state == "ready" and host.has_time()]

    # joining and leaving

    def compare(self, found: Mapping[str, str]) -> list[ClusterHost]:
        """Compare the cluster's workers with the known ones; return hosts that have left."""
        if not found and not self._by_address and not self._waits:
            self._waits = True
            text = f"no host has joined yet; the run waits {self._patience:g} s for one"
            self.notices.append((text, False))
        gone = [h for h in self._by_address.values() if found.get(h.address) != h.id]
        for host in gone:
            del self._by_address[host.address]
            lost = f"; {counted(host.jobs, 'job')} in progress" if host.jobs else ""
            if host.slots:
                self.notices.append((f"host {host.name} has left{lost}", bool(host.jobs)))
        if any(host.slots for host in gone) and not any(h.slots for h in self._usable()):
            self.notices.append(("no host is left that can play; waiting for workers", True))
        for address, id in found.items():
            host = self._by_address.setdefault(address, ClusterHost(address, id, self._resources))
            if host.state == "new":
                host.state = "preparing"
                self._link.prepare(address, id, self.orders)
        self._wait()
        return gone

    def _wait(self) -> None:
        """End the run when there has been no host for too long, and none is in a queue."""
        now = time.monotonic()
        if self._usable() or self._queued:
            self._alone = None
        elif self._alone is None:
            self._alone = now
        if self._alone is not None and now - self._alone >= self._patience:
            text = f"no host that can play has been there for {self._patience:g} s"
            safe = "what was recorded is safe: run it again to resume"
            reasons = [*self._troubles, *self.refusals]
            self.failure = ExecutorError("\n".join([f"{text}; {safe}", *reasons]))

    def take_upkeep(self, news: Upkeep) -> None:
        """Report what became of the hosts that the run has started."""
        if news.queued is not None:
            self._queued = news.queued
        if news.text:
            self.notices.append((news.text, news.is_warning))
            if news.is_warning:
                self._troubles.append(news.text)

    def doubt(self) -> None:
        """Use no host until the scheduler, which was lost, lists it again."""
        for host in self._by_address.values():
            if host.state in ("ready", "preparing", "calibrating"):
                host.state = "new"
        self._waiting.clear()

    def add_files(self, names: Iterable[str]) -> None:
        """Have more files shipped to every host.  Raises ExecutorError."""
        files = (*self.orders.files, *shipping.collect(names))
        self.orders = msgspec.structs.replace(self.orders, files=files)
        for host in self._by_address.values():
            if host.state not in ("new", "out"):
                self._link.prepare(host.address, host.id, self.orders)

    def take_prepared(self, news: Prepared) -> None:
        """Take the facts of a host, or refuse it; `admit` lets a new one play."""
        host, facts = self._by_address.get(news.address), news.facts
        if host is None or host.id != news.id or host.state == "out":
            return
        host.cuts += news.is_cut
        if news.is_cut:
            host.state = "new"
            if host.cuts == _MANY_CUTS:
                text = f"host {host.name} does not answer ({facts.refusal}); trying again"
                self.notices.append((text, True))
            return
        if facts.lasts is not None:
            host.leaves = time.monotonic() + facts.lasts
        if facts.name and host.name == host.address:
            self._name(host, facts.name)
        refusal = facts.refusal or self._difference(facts)
        others = [other for other in self._usable() if other is not host]
        shares_cpus = not facts.has_own_cpus and facts.name in [h.machine for h in others]
        if not refusal and self.orders.pin and shares_cpus:
            refusal = f"pin needs one worker a machine, and {facts.name} has another"
        if not refusal and facts.missing:
            refusal = f"it did not keep {counted(len(facts.missing), 'shipped file')}"
        if refusal:
            self.refuse(host, refusal)
            return
        host.files = max(host.files, news.files)
        if host.state == "preparing":
            self._waiting[host] = facts
        else:
            host.slots = facts.slots

    def admit(self) -> list[ClusterHost]:
        """Return new hosts that may play.

        While nobody knows the right files, they wait until all hosts are prepared.
        """
        self._waiting = {h: f for h, f in self._waiting.items() if h.state == "preparing"}
        sums: dict[str, Counter[str]] = {}
        for facts in self._waiting.values():
            for name, sum in facts.builds.items():
                if name not in self._expected:
                    sums.setdefault(name, Counter())[sum] += 1
        present = [h for h in self._by_address.values() if h.state in ("new", "preparing")]
        if sums and len(present) > len(self._waiting):
            return []
        for name, counts in sums.items():
            self._expected[name] = _majority(counts), "on most hosts"
        admitted = []
        waiting, self._waiting = self._waiting, {}
        for host, facts in waiting.items():
            difference = self._difference(facts)
            if difference:
                self.refuse(host, difference)
            else:
                self._welcome(host, facts)
                admitted.append(host)
        return admitted

    def _welcome(self, host: ClusterHost, facts: HostFacts) -> None:
        """Let a host play, and say so if it is new."""
        has_played = host.slots > 0
        host.slots = facts.slots
        host.state = "ready" if self._timed is None else "calibrating"
        if has_played:
            return
        words = (
            f"host {host.name} joins: {counted(facts.slots, 'game')} at a time, "
            f"{counted(facts.cpus, 'CPU')}"
        )
        if 0 < facts.cores < facts.slots:
            words += f" on {counted(facts.cores, 'core')}, which games share"
        programs = [f"{name} {sum[:12]}" for name, sum in facts.builds.items()]
        self.notices.append(("; ".join([words, *programs]), False))
        if facts.python.rpartition(".")[0] != HERE.rpartition(".")[0]:
            text = f"has Python {facts.python}, and this machine {HERE}: Dask supports no such mix"
            self.notices.append((f"host {host.name} {text}; install one version", True))
        needed = facts.slots * self._threads
        if needed > facts.cpus:
            text = f"its games need {needed} CPUs: engines lose time and strength there"
            self.notices.append(
                (f"host {host.name} has {counted(facts.cpus, 'CPU')}, but {text}", True)
            )

    def _difference(self, facts: HostFacts) -> str:
        """Return how a host's files differ from the expected ones, or ""."""
        shipped = {file.path for file in self.orders.files}
        for name in self._needed:
            if name not in facts.builds and name not in shipped:
                return f"it has no file {name}"
        for name, sum in facts.builds.items():
            expected, where = self._expected.get(name, (sum, ""))
            if sum != expected:
                if not expected:
                    rule = "no file is on most hosts; this machine needs the right one"
                    return f"{name} (SHA-256 {sum[:12]}) is another file elsewhere, and {rule}"
                there = f"another file there (SHA-256 {sum[:12]})"
                return f"{name} is {there} than {where} ({expected[:12]})"
        return ""

    def programs(self) -> dict[str, str]:
        """Return the checksums that programs must have."""
        return {name: sum for name, (sum, _) in self._expected.items()}

    def _name(self, host: ClusterHost, machine: str) -> None:
        """Give a host its machine's name, with a number if the machine has several."""
        taken = {other.name for other in self._by_address.values()}
        name, number = machine, 1
        while name in taken:
            number += 1
            name = f"{machine}-{number}"
        host.name, host.machine = name, machine

    def prepare_again(self, host: ClusterHost) -> None:
        """Prepare a host that knows nothing of the run: its process is another one."""
        if host.state != "out":
            host.state, host.files = "preparing", 0
            self._link.prepare(host.address, host.id, self.orders)

    def refuse(self, host: ClusterHost, reason: str, verb: str = "is not used") -> None:
        """Send a host no more jobs; there is a failure if no other is left."""
        host.state = "out"
        text = f"host {host.name} {verb}: {reason}"
        self.refusals[text] = None
        self.notices.append((text, True))
        if len(self._by_address) >= max(1, self._wanted) and not self._usable():
            self.failure = ExecutorError("\n".join(["no host can play:", *self.refusals]))

    # speed

    def is_due(self, host: ClusterHost, load: float) -> bool:
        """Return whether a host's speed is to be measured again: it is old, or the load changed.

        load  of an answer, after which the host plays on
        """
        age = time.monotonic() - host.measured
        if host.load is None and age > SETTLING and len(host.speeds) == host.slots:
            host.load = load
        has_changed = host.load is not None and abs(load - host.load) > CHANGE
        is_old = has_changed or age > RENEWAL
        return is_old and self._timed is not None and host.state == "ready"

    def trials(self, host: ClusterHost) -> list[CheckJob]:
        """Return jobs that measure a host's speed, for all slots at once as in games.

        Where games are in progress, each of these jobs waits for the next free slot.
        """
        host.speeds.clear()
        host.measured, host.load = time.monotonic(), None
        if self._timed is None or self._calibration is None:
            return []
        player = self._timed
        game: GameName = "chess" if player.protocol == "uci" else "shogi"
        return [
            CheckJob(
                id=f"speed of {player.code}, {slot + 1} of {host.slots}",
                player=player,
                settings=GameSettings(game=game),
                speed=self._calibration.seconds,
            )
            for slot in range(host.slots)
        ]

    def take_speed(self, host: ClusterHost, result: CheckResult) -> None:
        """Take one slot's speed; all of them are the host's from now on, and it may play."""
        assert self._calibration is not None
        if host.state not in ("calibrating", "ready"):
            return
        if result.nps is None:
            if host.state == "ready":
                return  # it keeps the speed that it has
            problems = "; ".join(map(str, result.problems)) or "it reports no nodes"
            self.refuse(host, f"player {self._calibration.player!r} has no speed: {problems}")
            return
        host.speeds.append(result.nps)
        if len(host.speeds) == host.slots:
            nps = statistics.median(host.speeds)
            host.speed = nps / self._calibration.speed
            host.state = "ready"
            text = f"{nps:,.0f} nodes a second: time controls are x {1 / host.speed:.3g}"
            self.notices.append((f"host {host.name} searches {text}", False))

    # results

    def judge(self, host: ClusterHost, result: JobResult) -> None:
        """Count a game for the host's health; send an unsound host no more games."""
        if isinstance(result, GameResult):
            verdict = self._health.take(host.name, result)
            if verdict and host.state == "ready" and len(self.ready()) > 1:
                self.refuse(host, verdict, "gets no more games")


def placed(result: JobResult, place: Host) -> JobResult:
    if isinstance(result, CheckResult):
        return result
    return msgspec.structs.replace(result, host=place)


def _majority(counts: Counter[str]) -> str:
    """Return the most frequent sum, "" if there are two."""
    (first, most), *others = counts.most_common(2)
    return "" if others and others[0][1] == most else first


def _slowed(player: Player, factor: float) -> Player:
    """Return a player with `factor` times its time."""
    control = player.time_control
    return msgspec.structs.replace(
        player,
        time_control=None if control is None else control.scaled(factor),
        move_time=None if player.move_time is None else player.move_time * factor,
    )
