"""The server's process: its address, and its end."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ringmaster.errors import UsageError
from ringmaster.server.app import serve
from tests.processes import LONG
from tests.recorded import write

# a reader takes nothing, and gets more than fits between two processes
_SERVER = """
import asyncio, sys
from ringmaster.server import app

async def flood(hub):
    while True:
        yield {"data": "x" * 1_000_000}
        await asyncio.sleep(0)

app.Hub.events = flood
app._PATIENCE = 0.1
app.serve(app.Path(sys.argv[1]), 0, lambda url: print(url, flush=True), until_eof=True)
"""


def test_reader_that_takes_nothing_does_not_keep_the_server(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(write(tmp_path))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        _, _, host, token, _ = server.stdout.readline().split("/")
        # the address is good as soon as it is printed
        with socket.create_connection(("127.0.0.1", int(host.rpartition(":")[2]))) as reader:
            reader.sendall(f"GET /{token}/event/events HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert reader.recv(1) == b"H"
            server.stdin.close()
            assert server.wait(LONG) == 0
        assert server.stderr.read() == ""


def test_output_file_is_refused_before_anything_is_served(tmp_path: Path) -> None:
    (tmp_path / "event.status").touch()
    with pytest.raises(UsageError, match=r"did you mean .*event\.ctl"):
        serve(tmp_path / "event.status", 0, print)
