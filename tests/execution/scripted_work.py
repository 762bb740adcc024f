"""Work whose behaviour is written in the job's ticket, for tests of executors."""

from __future__ import annotations

import os
import resource
import select
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from ringmaster.engines import reaper
from ringmaster.model.jobs import CheckJob, EvaluationJob, GameJob, GameSettings, Job, WorkerContext
from ringmaster.model.players import Player
from ringmaster.model.results import CheckResult, EvaluationResult, GameResult, JobResult

PLAYER = Player(code="a", command=("a",))
SETTINGS = GameSettings(game="chess")


def game(number: int | str, *players: Player, **ticket: object) -> GameJob:
    first, second = players or (PLAYER, PLAYER)
    return GameJob(id=f"0_{number}", players=(first, second), settings=SETTINGS, ticket=ticket)


def holder(code: str, **resources: int) -> Player:
    """A player that needs tokens."""
    return Player(code=code, command=("a",), resources=resources)


def held_at_most(log: Path) -> int:
    """The most tokens that jobs with `hold` held at a time."""
    held = most = 0
    for line in log.read_text().splitlines():
        held += int(line)
        most = max(most, held)
    assert held == 0
    return most


def check(number: int) -> CheckJob:
    return CheckJob(id=f"check_{number}", player=PLAYER, settings=SETTINGS)


def evaluation(number: int, positions: str) -> EvaluationJob:
    """A shard of one position."""
    return EvaluationJob(
        f"e_{number}", PLAYER, SETTINGS, positions, number, number + 1, score_key=7, shard=number
    )


def expected(job: Job, detail: str = "") -> JobResult:
    """The result of a job that asks for nothing in particular."""
    if isinstance(job, CheckJob):
        return CheckResult(check_id=job.id, code=job.player.code)
    if isinstance(job, EvaluationJob):
        scores = struct.pack("<f", job.first)
        return EvaluationResult(
            job.id, job.attempt, "evaluated", job.score_key, job.shard, scores=scores
        )
    return GameResult(
        game_id=job.id, attempt=job.attempt, outcome="draw", detail=detail or str(job.ticket)
    )


class Scripted:
    """Runs in this process; needs no context."""

    def run(self, job: Job) -> JobResult:
        if isinstance(job, GameJob) and "raise" in job.ticket:
            raise ZeroDivisionError(job.ticket["raise"])
        if isinstance(job, GameJob) and "hold" in job.ticket:
            count = sum(job.resources.values())
            for sign in ("+", "-"):
                with open(job.ticket["hold"], "a") as log:
                    log.write(f"{sign}{count}\n")
                os.sched_yield()
        if isinstance(job, GameJob) and "record" in job.ticket:
            return msgspec.structs.replace(expected(job), record="x" * job.ticket["record"])
        return expected(job)

    def close(self) -> None:
        pass


# An "engine" that ignores everything but SIGKILL.
ENGINE = """
import os, signal, subprocess, sys
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
pids = [os.getpid()]
if len(sys.argv) > 1:
    program = "import signal; print(flush=True); signal.pause()"
    child = subprocess.Popen([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE,
                             start_new_session=True)
    # before it runs, its environment may not be there to be read
    child.stdout.readline()
    pids.append(child.pid)
print(*pids, flush=True)
while True:
    signal.pause()
"""


def start_engine(
    *, family: bool = False, tag: bool = False
) -> tuple[subprocess.Popen[bytes], list[int]]:
    """Start a stubborn engine; with `family`, one with a child in a session of
    its own; with `tag`, one that is tagged as a worker.  Returns it and the process ids."""
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", ENGINE, *(["family"] if family else [])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=reaper.tag_worker if tag else None,
    )
    assert process.stdout is not None
    return process, [int(word) for word in process.stdout.readline().split()]


class InProcess(Scripted):
    """Work for a worker process.

    do   "die": SIGKILL to itself; "exit": leaves in the middle; "block": until
         told to abandon; "stick": for ever, whatever happens; "pause": until
         any signal comes; "fault": raises when it gets
         SIGUSR1; the others look at something
    engine  start a stubborn engine first: "plain" or "family", and keep it
    notices messages for the user
    tell    path of a fifo: process ids of worker and engines are written there
    """

    def __init__(self, context: WorkerContext) -> None:
        reaper.tag_worker()
        self.context = context
        self.engines: list[subprocess.Popen[bytes]] = []

    def run(self, job: Job) -> JobResult:
        ticket = job.ticket if isinstance(job, GameJob) else {}
        pids = [os.getpid()]
        if "engine" in ticket:
            engine, engine_pids = start_engine(family=ticket["engine"] == "family")
            reaper.announce(self.context.reaper_fd, self.context.slot, engine.pid)
            self.engines.append(engine)
            pids += engine_pids
        if "say" in ticket:
            print(ticket["say"], file=sys.stderr, flush=True)
        for text in ticket.get("notices", ()):
            self.context.say(text)
        if ticket.get("do") == "fault":
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
        if "tell" in ticket:
            with open(ticket["tell"], "w") as fifo:
                print(*pids, file=fifo)
        match ticket.get("do"):
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit":
                os._exit(3)
            case "block":
                poll = select.poll()
                poll.register(self.context.control_fd, select.POLLIN)
                poll.poll()
                raise InterruptedError("abandoned")
            case "stick":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                while True:
                    signal.pause()
            case "pause":
                while True:  # a signal shortly before a longer pause would not end it
                    time.sleep(0.01)
            case "fault":
                signal.sigwait({signal.SIGUSR1})
                raise ZeroDivisionError("in the middle of a game")
            case "pid":
                return expected(job, str(os.getpid()))
            case "wrong result":
                return "draw"  # type: ignore[return-value]  # what a faulty work might do
            case "context":
                context = self.context
                return expected(job, f"{context.slot} {sorted(context.setup.items())}")
            case "descriptors":
                links = [_link(fd) for fd in sorted(os.listdir("/proc/self/fd"), key=int)]
                return expected(job, "\n".join(links))
            case "open files":
                return expected(job, str(resource.getrlimit(resource.RLIMIT_NOFILE)[0]))
            case "main":
                main = sys.modules["__main__"]
                return expected(job, f"{main.__name__} {main.__file__}\n{sys.path}")
            case "affinity":
                engine, (pid, *_) = start_engine()
                self.engines.append(engine)
                sets = os.sched_getaffinity(0), os.sched_getaffinity(pid)
                return expected(job, " ".join(str(sorted(cpus)) for cpus in sets))
            case "signals":
                os.kill(os.getpid(), signal.SIGINT)
        return super().run(job)

    def close(self) -> None:
        for engine in self.engines:
            engine.kill()
            engine.wait()
            reaper.retire(self.context.reaper_fd, self.context.slot, engine.pid)


def _link(fd: str) -> str:
    try:
        return f"{fd} {os.readlink(f'/proc/self/fd/{fd}')}"
    except FileNotFoundError:
        return f"{fd} gone"


def factory(context: WorkerContext) -> InProcess:
    return InProcess(context)


def broken_factory(context: WorkerContext) -> InProcess:
    raise LookupError("no board to play on")


def late_factory(context: WorkerContext) -> InProcess:
    """Work that starts after a line on a fifo, except in the first worker."""
    if context.slot > 0:
        with open(context.setup["fifo"]) as fifo:
            fifo.readline()
    return InProcess(context)


def dying_factory(context: WorkerContext) -> InProcess:
    print("goodbye from the factory", file=sys.stderr, flush=True)
    os._exit(4)


def stubborn_factory(context: WorkerContext) -> InProcess:
    """Work that never closes."""

    class Stubborn(InProcess):
        def close(self) -> None:
            while True:
                signal.pause()

    return Stubborn(context)
