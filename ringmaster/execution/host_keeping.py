"""Hosts that a run starts: it starts them again for as long as it lasts, and ends them with it."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from ringmaster.errors import counted
from ringmaster.execution.dask_link import News, Upkeep
from ringmaster.execution.dask_protocol import encode
from ringmaster.execution.host_process import SILENCE, HostOrders

#: Seconds between two attempts to start a host.
RETRY = 60.0
#: Seconds between two lines to a host's standard input.
PULSE = SILENCE / 6
#: Seconds for a host to end by itself.
PATIENCE = 10.0

Post = Callable[[News], None]
#: Keeps hosts up until it is cancelled.
Keeper = Callable[[Post], Coroutine[Any, Any, None]]


def host_command(python: str) -> list[str]:
    """Return the command of a host's process."""
    # -P: the current folder holds the user's files, not ours
    return [python, "-Pm", "ringmaster.execution.host_process"]


def process_keeper(
    name: str, start: Callable[[], tuple[Sequence[str], HostOrders]], retry: float = RETRY
) -> Keeper:
    """Return a keeper of one host's process.

    start  returns the command of the next process, and its orders
    """

    async def keep(post: Post) -> None:
        reported = ""
        while True:
            began = time.monotonic()
            reason = await _run(*start())
            lasted = time.monotonic() - began
            if reason != reported or lasted > RETRY:
                post(Upkeep(f"host {name} is down: {reason}; trying again each minute"))
                reported = reason
            await asyncio.sleep(max(min(1.0, retry), retry - lasted))

    return keep


async def _run(command: Sequence[str], orders: HostOrders) -> str:
    """Run a host's process to its end; return its last words."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    assert process.stdin is not None
    process.stdin.write(encode(orders) + b"\n")
    pulse = asyncio.ensure_future(_pulse(process.stdin))
    words = asyncio.ensure_future(_last_words(process))
    try:
        await asyncio.shield(words)
        status = await process.wait()
        return words.result() or f"it ended with status {status}"
    finally:
        pulse.cancel()
        process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(words, PATIENCE)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _pulse(stdin: asyncio.StreamWriter) -> None:
    """Write lines: a host that gets none has lost its run."""
    while True:
        await asyncio.sleep(PULSE)
        stdin.write(b"\n")


async def _last_words(process: asyncio.subprocess.Process) -> str:
    """Return the last line that a process writes to standard error."""
    assert process.stderr is not None
    end = b""
    while chunk := await process.stderr.read(4096):
        end = (end + chunk)[-4096:]
    lines = end.decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else ""


class Slurm:
    """Jobs of Slurm, each of them a host.

    script  of a job
    count   jobs at a time
    """

    def __init__(self, script: str, count: int, retry: float = RETRY) -> None:
        self._script = script
        self._count = count
        self._retry = retry
        self._jobs: list[str] = []
        self._reports: deque[str] = deque(maxlen=1)

    async def keep(self, post: Post) -> None:
        """Submit jobs in the place of those that have ended; cancel all at the end."""
        try:
            while True:
                await self._look(post)
                await self._submit(post)
                await asyncio.sleep(self._retry)
        finally:
            if self._jobs:
                await _call("scancel", *self._jobs)

    async def _look(self, post: Post) -> None:
        """Find jobs that have ended."""
        if not self._jobs:
            return
        status, output = await _call("squeue", "--me", "--noheader", "--format=%A %t")
        if status:
            return  # Slurm does not answer now
        states = dict(line.split()[:2] for line in output.splitlines() if len(line.split()) > 1)
        for job in [job for job in self._jobs if job not in states]:
            self._jobs.remove(job)
            text = f"Slurm job {job} has ended; another is submitted (see slurm-{job}.out)"
            post(Upkeep(text))
        post(Upkeep(queued=sum(states[job] == "PD" for job in self._jobs)))

    async def _submit(self, post: Post) -> None:
        """Submit missing jobs."""
        submitted = []
        while len(self._jobs) < self._count:
            status, output = await _call("sbatch", input=self._script)
            match = re.search(r"\d+", output)
            if status or match is None:
                words = output.strip().splitlines()
                self._report(words[-1] if words else f"sbatch ends with status {status}", post)
                break
            self._jobs.append(match[0])
            submitted.append(match[0])
        if submitted:
            self._reports.clear()
            jobs = counted(len(submitted), "Slurm job")
            post(Upkeep(f"{jobs} submitted: {', '.join(submitted)}", False, len(submitted)))

    def _report(self, text: str, post: Post) -> None:
        if text not in self._reports:
            self._reports.append(text)
            post(Upkeep(f"{text}; trying again each minute"))


async def _call(*command: str, input: str = "") -> tuple[int, str]:
    """Run a command of Slurm; return its status and output."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    except OSError as error:
        return 1, f"{command[0]}: {error.strerror}"
    output, _ = await process.communicate(input.encode())
    return process.returncode or 0, output.decode(errors="replace")


def slurm_script(options: dict[str, Any], python: str, orders: HostOrders) -> str:
    """Return a job's script, with the orders: only its owner can read it.

    options  of `Cluster.slurm`
    """
    directives = {
        "-J": "ringmaster",
        "-p": options.get("queue"),
        "-A": options.get("account"),
        "-n": 1,
        "--cpus-per-task": options["cores"],
        "--mem": f"{(orders.memory or 0) >> 20}M",
        "-t": options.get("walltime"),
    }
    joined = {name: "=" if name.startswith("--") else " " for name in directives}
    lines = [f"{name}{joined[name]}{value}" for name, value in directives.items() if value]
    return "\n".join(
        [
            "#!/bin/sh",
            *(f"#SBATCH {line}" for line in [*lines, *options["directives"]]),
            *options["prologue"],
            f"exec {shlex.join(host_command(python))} <<'END'",
            encode(orders).decode(),
            "END",
            "",
        ]
    )
