"""Hosts that a run starts: it starts them again for as long as it lasts, and ends them with it."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ringmaster.execution.dask_link import Keeper, News, Upkeep
from ringmaster.execution.dask_protocol import encode
from ringmaster.execution.host_process import HostOrders

#: Seconds between two attempts to start a host.
RETRY = 60.0
#: Seconds for a host to end by itself.
PATIENCE = 10.0

Post = Callable[[News], None]


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
    try:
        _, output = await process.communicate(encode(orders) + b"\n")
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), PATIENCE)
        except TimeoutError:
            process.kill()
    status = process.returncode or 0
    if status < 0:
        return f"its process was killed by signal {-status}"
    return last_line(output) or f"it ended with status {status}"


def last_line(output: bytes) -> str:
    return output.decode(errors="replace").strip().rpartition("\n")[2].strip()


def slurm_keeper(script: str, count: int, retry: float = RETRY) -> Keeper:
    """Return a keeper of so many Slurm jobs, each of them a host."""

    async def keep(post: Post) -> None:
        jobs: list[str] = []
        reported = ""
        try:
            while True:
                status, output = await _call("squeue", "--me", "--noheader", "--format=%A %t")
                if status == 0:
                    rows = [line.split() for line in output.decode().splitlines()]
                    states = {row[0]: row[1] for row in rows if len(row) == 2}
                    for job in [job for job in jobs if job not in states]:
                        jobs.remove(job)
                        text = f"Slurm job {job} has ended; another is submitted"
                        post(Upkeep(f"{text} (see slurm-{job}.out)"))
                    post(Upkeep(queued=sum(states[job] == "PD" for job in jobs)))
                while len(jobs) < count:
                    status, output = await _call("sbatch", "--parsable", input=script)
                    last = last_line(output)
                    if status:
                        if last != reported:
                            post(Upkeep(f"{last}; trying again each minute"))
                        reported = last
                        break
                    jobs.append(last.partition(";")[0])
                    reported = ""
                    post(Upkeep(f"Slurm job {jobs[-1]} is submitted", False, len(jobs)))
                await asyncio.sleep(retry)
        finally:
            if jobs:
                await _call("scancel", *jobs)

    return keep


async def _call(*command: str, input: str = "") -> tuple[int, bytes]:
    """Run a command of Slurm; return its status and output."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate(input.encode())
    return process.returncode or 0, output


def slurm_script(options: dict[str, Any], python: str, orders: HostOrders) -> str:
    """Return a job's script, with the orders: only its owner can read it.

    options  of `Cluster.slurm`
    """
    directives = {
        "-J ": "ringmaster",
        "-p ": options.get("queue"),
        "-A ": options.get("account"),
        "-n ": 1,
        "--cpus-per-task=": options["cores"],
        "--mem=": f"{(orders.memory or 0) >> 20}M",
        "-t ": options.get("walltime"),
    }
    lines = [f"{name}{value}" for name, value in directives.items() if value]
    return "\n".join(
        [
            "#!/bin/sh",
            *(f"#SBATCH {line}" for line in [*lines, *options["directives"]]),
            # seconds of the epoch at which the time limit ends the job
            'export SLURM_JOB_END_TIME=$(date -d "$(squeue -h -j $SLURM_JOB_ID -o %e)" +%s)',
            *options["prologue"],
            f"exec {shlex.join(host_command(python))} <<'END'",
            encode(orders).decode(),
            "END",
            "",
        ]
    )
