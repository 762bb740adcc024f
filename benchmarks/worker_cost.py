"""Measure the cost of worker processes: seconds until all are ready, and memory.

    python benchmarks/worker_cost.py [--slots 1,8,32,128]

Memory is the proportional set size (Linux): pages that workers share count once.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from common import start_workers

from ringmaster.model.jobs import CheckJob, GameSettings
from ringmaster.model.players import Player


def pss(pid: int) -> int:
    """Return the proportional set size of a process in kB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def measure(slots: int) -> tuple[float, float, float]:
    """Return the seconds until all workers are ready, and MB of all and of one worker."""
    began = time.monotonic()
    executor = start_workers(slots)
    try:
        # a job waits for all workers; this one fails at once
        player = Player("a", ("/nowhere",), protocol="uci")
        executor.submit(CheckJob("check", player, GameSettings("chess")))
        executor.wait(60)
        seconds = time.monotonic() - began
        processes = [slot.process for slot in executor._slots]
        # has_ended() reads the process id
        kilobytes = [pss(p.pid) for p in processes if not p.has_ended() and p.pid]
    finally:
        executor.close()
    return seconds, sum(kilobytes) / 1024, sum(kilobytes) / 1024 / slots


def main() -> None:
    parser = argparse.ArgumentParser(description="cost of worker processes")
    parser.add_argument("--slots", default="1,8,32,128")
    arguments = parser.parse_args()
    print("workers  ready s  all MB  MB a worker")
    for slots in map(int, arguments.slots.split(",")):
        seconds, total, each = measure(slots)
        print(f"{slots:7}  {seconds:7.2f}  {total:6.0f}  {each:11.1f}", flush=True)


if __name__ == "__main__":
    main()
