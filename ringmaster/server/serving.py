"""Run the server: its socket, its token, its end."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn

from ringmaster.errors import RingmasterError, UsageError
from ringmaster.server.app import Site
from ringmaster.storage.paths import OutputPaths

#: Added to the niceness of the run's processes: engines come first.
_NICENESS = 5
#: Seconds at the end for readers to take what was sent to them.
_PATIENCE = 3.0


def serve(
    place: Path,
    port: int,
    announce: Callable[[str], None],
    *,
    control: Callable[[Path, str], None] | None = None,
    until_eof: bool = False,
    safe: bool = False,
) -> None:
    """Serve a control file, or a folder of them, on the loopback interface until a signal.

    port      0 for any
    announce  receives the address, with its token
    control   called with a control file and a command; None: read-only
    until_eof whether to end with standard input, too: with the process at its other end
    safe      whether control files are evaluated in safe mode

    Raises UsageError for a place without control files, RingmasterError for a port in use.
    """
    if not place.is_dir() and not place.is_file():
        raise UsageError(f"there is no control file or folder {place}")
    if place.is_file():
        OutputPaths(place)  # refuses the name of an output file
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        # who reads the address may use it at once
        listener.listen()
    except OSError as error:
        listener.close()
        raise RingmasterError(f"cannot serve on port {port}: {error.strerror}") from error
    token = secrets.token_urlsafe(16)
    site = Site(place, token, control=control, safe=safe)
    config = uvicorn.Config(
        site.app(),
        # a run's terminal shows the run
        log_level="critical" if until_eof else "warning",
        access_log=False,
        lifespan="off",
        server_header=False,
    )
    server = _Server(config, site)
    with suppress(OSError):
        os.nice(_NICENESS)
    announce(f"http://127.0.0.1:{listener.getsockname()[1]}/{token}/")
    with listener:
        asyncio.run(server.serve_until(listener, until_eof))


class _Server(uvicorn.Server):
    """A server that sends the last changes before it ends."""

    def __init__(self, config: uvicorn.Config, site: Site) -> None:
        super().__init__(config)
        self._site = site
        self._ending: asyncio.Task[None] | None = None

    async def serve_until(self, listener: socket.socket, until_eof: bool) -> None:
        """Serve until a signal; with `until_eof`, also until standard input ends."""
        if until_eof:
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read_end)
        await self.serve(sockets=[listener])

    def _read_end(self) -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self.handle_exit(signal.SIGTERM, None)

    def handle_exit(self, sig: int, frame: object) -> None:
        """End softly at the first signal, at once at the second."""
        if self._ending is None:
            loop = asyncio.get_running_loop()
            self._ending = loop.create_task(self._end())
        else:
            self.should_exit = self.force_exit = True

    async def _end(self) -> None:
        await self._site.end()
        self.should_exit = True
        # a browser that is suspended takes nothing
        await asyncio.sleep(_PATIENCE)
        self.force_exit = True
        # from Python 3.12 on, the listener waits for every connection to close
        for connection in tuple(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
