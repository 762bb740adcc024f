"""Each tutorial is typed as it is written: its files, its commands, its output.

A page's ``python`` and ``text`` blocks with a caption are files.  In its ``console`` blocks a
line that begins with ``$ `` is a command, and the lines below are its output, with any figures.
"…" stands for any lines, or within a line for any text.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.processes import LONG, await_that
from tests.program import REPOSITORY
from tests.requirements import PLACES, engine

pytestmark = [pytest.mark.real, pytest.mark.slow]

ENGINES = {
    "match": ["stockfish", "fairy-stockfish"],
    "spsa": [],
    "texel": [],
    "gomill": ["gnugo"],
    "katago": ["gnugo"],
    "shogi": ["fairy-stockfish"],
}

BLOCK = re.compile(
    r"^\.\. code-block:: (?P<kind>\w+)\n(?:   :caption: (?P<caption>.+)\n)?\n"
    r"(?P<text>(?:   .*\n|\n)+)",
    re.MULTILINE,
)


@pytest.mark.parametrize("page", ENGINES)
def test_tutorial_does_as_it_says(page: str, tmp_path: Path) -> None:
    for name in ENGINES[page]:
        engine(name)
    folder = tmp_path / "work"
    folder.mkdir()
    environ = machine(tmp_path)
    text = (REPOSITORY / "docs" / "tutorials" / f"{page}.rst").read_text()
    for block in BLOCK.finditer(text):
        source = dedent(block["text"]).strip() + "\n"
        if block["caption"]:
            (folder / block["caption"]).write_text(source)
        elif block["kind"] == "console":
            for command, expected in commands(source):
                output = answer(command, folder, environ)
                assert agrees(output, expected), f"$ {command}\n{output}\nexpected:\n{expected}"


def machine(folder: Path) -> dict[str, str]:
    """Return the environment of a user with this checkout in the home folder, installed."""
    (folder / "ringmaster").symlink_to(REPOSITORY)
    program = folder / "bin" / "ringmaster"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m ringmaster "$@"\n')
    program.chmod(0o755)
    return {
        **os.environ,
        "HOME": str(folder),
        "PATH": f"{program.parent}{os.pathsep}{PLACES}",
        "PYTHONPATH": str(REPOSITORY),
    }


def commands(source: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a console block, each with its output."""
    for part in re.split(r"^\$ ", source, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def answer(command: str, folder: Path, environ: dict[str, str]) -> str:
    """Return the output of a command that succeeds; a server is stopped by Ctrl-C."""
    with subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        begin = ""
        try:
            if command.startswith("ringmaster serve"):
                begin = process.stdout.readline()
                visit(begin.strip())
                process.send_signal(signal.SIGINT)
            output = begin + process.communicate(timeout=3 * LONG)[0]
        finally:
            process.kill()
    assert process.returncode == 0, f"$ {command}\n{output}"
    return output


def visit(address: str) -> None:
    """Load a page; its address is printed shortly before the server answers."""

    def answers() -> bool:
        with suppress(URLError):
            urlopen(address, timeout=LONG).close()
            return True
        return False

    await_that(answers)


def plain(text: str) -> str:
    """Replace figures by #, and each form of an interval by the same one."""
    text = re.sub(r"[+-]?\d[\d,.]*", "#", text)
    text = re.sub(r"# Elo \(# %: # to #\)", "# ± # Elo (# %)", text)
    text = re.sub(r"[─-]{3,}", "---", text)
    return "".join(" ".join(line.split()) + "\n" for line in text.splitlines() if line.strip())


def agrees(output: str, expected: str) -> bool:
    """Tell whether an output has the expected lines; "…" stands for any."""
    lines = plain(output).splitlines()
    *parts, last = [
        [line for line in part.split("\n") if line]
        for part in re.split(r"^…$", plain(expected), flags=re.MULTILINE)
    ]
    at = 0
    for number, part in enumerate(parts):
        starts = range(at, len(lines) - len(part) + 1) if number else [0]
        start = next(
            (start for start in starts if same(lines[start : start + len(part)], part)), None
        )
        if start is None:
            return False
        at = start + len(part)
    rest = lines[at:]
    tail = rest[len(rest) - len(last) :] if parts else rest
    return same(tail, last)


def same(lines: list[str], expected: list[str]) -> bool:
    return len(lines) == len(expected) and all(
        re.fullmatch(re.escape(wanted).replace("…", ".*"), line)
        for line, wanted in zip(lines, expected, strict=True)
    )
