"""Measure `report` and its page after many invented games.

    python benchmarks/report_page.py [--games 1000000] [--types playoff spsa mc_tuner]

For each type: the wall time, CPU time and peak memory of `ringmaster x.ctl report`, the size of
the page, and the time until Chromium has made the page interactive (the page's scripts have run
and a frame was drawn).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from invented import TYPES
from tabulate import tabulate

HERE = Path(__file__).parent
INTERACTIVE = """() => new Promise((done) =>
  requestAnimationFrame(() => setTimeout(() => done(performance.now()))))"""


def invent(folder: Path, type_name: str, games: int) -> Path:
    """Record invented games; return the control file."""
    program = [sys.executable, str(HERE / "invented.py")]
    for words in (["write", folder, type_name, games, 0], ["fill", folder, games]):
        subprocess.run([*program, *map(str, words)], check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob("*.ctl"))


def report(control: Path) -> tuple[float, float, float]:
    """Write the report; return its wall seconds, CPU seconds and peak memory in MB."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "ringmaster", str(control), "report"])
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def interactive(page: Path) -> float | None:
    """Return the seconds until a page is interactive, None without a browser."""
    path = shutil.which("chromium")
    if path is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        opened = browser.new_page()
        opened.goto(page.as_uri())
        milliseconds: float = opened.evaluate(INTERACTIVE)
        browser.close()
    return milliseconds / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=1_000_000)
    parser.add_argument("--types", nargs="+", choices=TYPES, default=list(TYPES))
    parser.add_argument("--short", action="store_true", help="one type, 2,000 games")
    arguments = parser.parse_args()
    if arguments.short:
        arguments.games, arguments.types = 2000, ["playoff"]
    rows = []
    for type_name in arguments.types:
        with tempfile.TemporaryDirectory() as name:
            control = invent(Path(name), type_name, arguments.games)
            seconds, cpu, memory = report(control)
            page = control.with_suffix(".html")
            ready = interactive(page)
            rows.append(
                (
                    type_name,
                    f"{arguments.games:,}",
                    f"{seconds:.2f}",
                    f"{cpu:.2f}",
                    f"{memory:.0f}",
                    f"{page.stat().st_size / 1e6:.2f}",
                    "" if ready is None else f"{ready:.2f}",
                )
            )
    headers = (
        "type",
        "games",
        "report (s)",
        "CPU (s)",
        "memory (MB)",
        "page (MB)",
        "interactive (s)",
    )
    print(tabulate(rows, headers, colalign=("left", *["right"] * 6)))


if __name__ == "__main__":
    main()
