"""Simulated tunes in several processes: the replicates are divided in whole groups, so
that the outcome is the same for any number of processes."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait

from ringmaster.errors import RingmasterError
from ringmaster.tuners.simulation import GROUP, Course, Players, Tune, join, simulate

#: Is told the share that is done, from 0 to 1.
Progress = Callable[[float], object]


def divide(replicates: int, processes: int) -> list[tuple[int, int]]:
    """Return (first, count) for each process that has something to do."""
    groups = -(-replicates // GROUP)
    bounds = [groups * i // processes * GROUP for i in range(processes)]
    ends = [*bounds[1:], replicates]
    return [(a, b - a) for a, b in zip(bounds, ends, strict=True) if b > a]


def simulate_in_processes(
    tune: Tune,
    players: Players,
    replicates: int,
    *,
    processes: int = 1,
    seed: int = 0,
    points: Sequence[float] = (1.0,),
    progress: Progress = lambda share: None,
) -> Course:
    """Return how the replicates go.  Raises RingmasterError when a process dies."""
    shares = divide(replicates, processes)
    if len(shares) == 1:
        course = simulate(
            tune,
            players,
            replicates,
            seed=seed,
            points=points,
            progress=lambda told: progress(told / tune.iterations),
        )
        progress(1.0)
        return course
    # a new interpreter: a fork would take threads of the linear algebra's with it
    context = multiprocessing.get_context("spawn")
    ends: list[Connection] = []
    workers = []
    try:
        for first, count in shares:
            ours, theirs = context.Pipe(duplex=False)
            worker = context.Process(
                target=_work, args=(theirs, tune, players, count, seed, first, tuple(points))
            )
            worker.start()
            theirs.close()
            ends.append(ours)
            workers.append(worker)
        courses = _collect(ends, tune.iterations, progress)
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
        for end in ends:
            end.close()
    return join(courses)


def _collect(ends: Sequence[Connection], iterations: int, progress: Progress) -> list[Course]:
    told = dict.fromkeys(range(len(ends)), 0)
    courses: dict[int, Course] = {}
    while len(courses) < len(ends):
        for ready in wait([end for i, end in enumerate(ends) if i not in courses]):
            at = next(i for i, end in enumerate(ends) if end is ready)
            try:
                message: int | Course = ends[at].recv()
            except EOFError:
                raise RingmasterError("a process of the simulation has died") from None
            if isinstance(message, Course):
                courses[at], told[at] = message, iterations
            else:
                told[at] = message
        progress(sum(told.values()) / (len(ends) * iterations))
    return [courses[i] for i in range(len(ends))]


def _work(
    end: Connection,
    tune: Tune,
    players: Players,
    count: int,
    seed: int,
    first: int,
    points: tuple[float, ...],
) -> None:
    # Ctrl-C goes to all processes of the terminal; the parent ends this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        course = simulate(
            tune, players, count, seed=seed, first=first, points=points, progress=end.send
        )
        end.send(course)
    except BrokenPipeError:
        pass
