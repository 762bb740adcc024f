"""The action `serve`: the live page of a competition, or of a folder of them."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ringmaster.commands.console import DONE, complain, say
from ringmaster.commands.stop import send
from ringmaster.errors import UsageError
from ringmaster.storage.paths import COMMANDS

#: Seconds for the server beside a run to end.
_PATIENCE = 10.0


def serve(arguments: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    from ringmaster.server.app import serve

    # Ctrl-C is the way to end it, also before it watches for signals itself
    with suppress(KeyboardInterrupt):
        serve(
            arguments.control_file,
            arguments.port,
            lambda url: say(f"{url}\nCtrl-C ends the server.\n"),
            control=_control if arguments.control else None,
            safe=arguments.safe,
        )
    return DONE


def _control(path: Path, command: str) -> None:
    if command not in COMMANDS:
        raise UsageError(f"{command!r} is not {', '.join(COMMANDS)}")
    send(path, command)


@contextmanager
def beside_a_run(path: Path, port: int, safe: bool) -> Iterator[str]:
    """Serve the page of a run in a process of its own; give its address, "" after a failure."""
    # its own session: Ctrl-C in the terminal is for the run
    server = subprocess.Popen(
        # -P: the current folder holds the user's files, not ours
        [sys.executable, "-Pm", "ringmaster.server", str(path), str(port), *["--safe"] * safe],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    with server:
        line = server.stdout.readline().strip()
        if not line.startswith("http"):
            complain(f"no page is served: {line.removeprefix('error: ') or 'the server ended'}")
            line = ""
        try:
            yield line
        finally:
            # the server sends the last results and ends
            server.stdin.close()
            server.stdout.close()
            try:
                server.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                server.kill()
