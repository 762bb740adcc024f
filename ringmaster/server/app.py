"""The live page: its routes, its server, its end.

Every address begins with a secret token, and the host of a request must be a loopback name: a
page of another site can neither read nor guess anything.  Requests change nothing, unless the
server was started with control.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import uvicorn
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ringmaster.control import safe_bounds
from ringmaster.errors import RingmasterError, UsageError
from ringmaster.reporting.page import render_index, render_page
from ringmaster.server.watched import Watched
from ringmaster.storage.paths import OutputPaths

#: Seconds between two looks at the files.
PERIOD = 0.5
#: Added to the niceness of the run's processes: engines come first.
_NICENESS = 5
#: Seconds at the end for readers to take what was sent to them.
_PATIENCE = 3.0
#: Bytes of a command's request: a body of gigabytes would fill the memory.
_MOST_BODY = 1 << 16
_MISSING = "there is no such page\n"
_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
_STATIC = Path(__file__).parent / "static"
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Hub:
    """Looks at one competition while somebody watches it, and tells them what has changed."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self._readers = 0
        self._task: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._parts: dict[str, Any] = {}
        #: Set and replaced at each change of the parts, and at the end.
        self._news = asyncio.Event()
        self._ended = False
        self._stamp: object = None
        self._live_stamp: object = None

    async def call(self, function: Callable[[], Any]) -> Any:
        """Call a function of `watched` in a thread, one at a time."""

        async def locked() -> Any:
            async with self._lock:
                return await asyncio.to_thread(function)

        # a thread cannot be cancelled: the lock stays until it has ended
        return await asyncio.shield(asyncio.create_task(locked()))

    async def events(self) -> AsyncIterator[dict[str, str]]:
        """Yield the parts, then changed parts, until the server ends.

        A slow reader gets the latest version of each.
        """
        sent: dict[str, Any] = {}
        self._readers += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
        try:
            while True:
                news = self._news
                parts = {k: part for k, part in self._parts.items() if sent.get(k) is not part}
                if parts:
                    sent |= parts
                    yield {"data": msgspec.json.encode(parts).decode()}
                elif self._ended:
                    return
                else:
                    await news.wait()
        finally:
            self._readers -= 1
            if not self._readers and self._task is not None:
                self._task.cancel()

    async def _look(self) -> None:
        while True:
            await self._send_changes()
            await asyncio.sleep(PERIOD)

    async def _send_changes(self) -> None:
        """Send the parts that have changed.  Cancelled, it sends them the next time."""
        fresh: dict[str, Any] = {}
        stamp = await self.call(self.watched.stamp)
        if stamp != self._stamp or self.watched.is_due():
            fresh |= await self.call(self.watched.parts)
        live_stamp = await self.call(self.watched.live_stamp)
        if live_stamp != self._live_stamp or not self._parts:
            boards = await self.call(self.watched.games_in_progress)
            fresh["live"] = [msgspec.to_builtins(board) for board in boards]
        self._stamp, self._live_stamp = stamp, live_stamp
        fresh = {k: part for k, part in fresh.items() if self._parts.get(k) != part}
        if fresh:
            self._parts |= fresh
            self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def last_look(self) -> None:
        """Tell the last changes, and end all events."""
        if self._readers:
            assert self._task is not None
            self._task.cancel()
            self.watched.hurry()
            await self._send_changes()
        self._ended = True
        self._tell()


class Site:
    """The site of one control file, or of a folder of them.

    control  called with a control file and a command ("stop", …); None: read-only
    safe     whether control files are evaluated in safe mode
    """

    def __init__(
        self,
        place: Path,
        token: str,
        *,
        control: Callable[[Path, str], None] | None = None,
        safe: bool = False,
    ) -> None:
        self._place = place
        self._token = token
        self._control = control
        self._safe = safe
        self._hubs: dict[str, Hub] = {}

    def app(self) -> Starlette:
        routes = [
            Route("/{token}/", self._index),
            Route("/{token}/{name}/", self._page),
            Route("/{token}/{name}/events", self._events),
            Route("/{token}/{name}/games/{number:int}", self._game),
        ]
        if self._control is not None:
            routes.append(Route("/{token}/{name}/control", self._command, methods=["POST"]))
        middleware = [
            Middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS, www_redirect=False),
            Middleware(_Guard, token=self._token),
        ]
        return Starlette(routes=routes, middleware=middleware)

    async def end(self) -> None:
        """Send the last changes and end all event streams."""
        await asyncio.gather(*(hub.last_look() for hub in self._hubs.values()))

    def try_pages(self) -> None:
        """Make each page once within the bounds of safe mode, which threads do not have.

        Raises RingmasterError, OutOfBounds.
        """
        for path in self._files().values():
            Watched(path, self._safe).page()

    def _files(self) -> Mapping[str, Path]:
        files = [self._place] if self._place.is_file() else sorted(self._place.glob("*.ctl"))
        return {path.stem: path for path in files if path.is_file()}

    def _hub(self, request: Request) -> Hub:
        name = request.path_params["name"]
        path = self._files().get(name)
        if path is None:
            raise HTTPException(404, _MISSING)
        return self._hubs.setdefault(name, Hub(Watched(path, self._safe)))

    async def _index(self, request: Request) -> Response:
        files = self._files()
        if self._place.is_file():
            return RedirectResponse(f"./{quote(self._place.stem)}/")
        rows = []
        for name, path in files.items():
            hub = self._hubs.setdefault(name, Hub(Watched(path, self._safe)))
            rows.append(await hub.call(hub.watched.index_row))
        return HTMLResponse(render_index(self._place.resolve().name or str(self._place), rows))

    async def _page(self, request: Request) -> Response:
        hub = self._hub(request)
        try:
            page = await hub.call(hub.watched.page)
        except RingmasterError as error:
            return PlainTextResponse(f"{error}\n", 500)
        # buttons above boards, which come and go
        html = _text("control.html") if self._control is not None else ""
        html += _text("live.html")
        scripts, styles = (_text("live.js"),), (_text("live.css"),)
        text = render_page(page, events="events", html=html, scripts=scripts, styles=styles)
        return HTMLResponse(text)

    async def _events(self, request: Request) -> Response:
        return EventSourceResponse(self._hub(request).events(), ping=15)

    async def _game(self, request: Request) -> Response:
        hub = self._hub(request)
        number = request.path_params["number"]
        try:
            board = await hub.call(lambda: hub.watched.game(number))
        except RingmasterError as error:
            return PlainTextResponse(f"{error}\n", 500)
        if board is None:
            raise HTTPException(404, _MISSING)
        return Response(msgspec.json.encode(board), media_type="application/json")

    async def _command(self, request: Request) -> Response:
        hub = self._hub(request)
        assert self._control is not None
        # a form of another site cannot send this header
        if request.headers.get("x-ringmaster") != "1":
            return PlainTextResponse("the header X-Ringmaster is missing\n", 403)
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MOST_BODY:
                return PlainTextResponse("the command is too long\n", 413)
        try:
            self._control(hub.watched.path, body[:100].decode("ascii", "replace").strip())
        except RingmasterError as error:
            return PlainTextResponse(f"{error}\n", 409)
        return PlainTextResponse("done\n")


class _Guard:
    """Hides everything from requests without the token, and sets headers of safety."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(k.lower().encode(), v.encode()) for k, v in _HEADERS.items()]
                kept = [h for h in message["headers"] if h[0] not in {k for k, _ in extra}]
                message["headers"] = [*kept, *extra]
            await send(message)

        # "*" of OPTIONS has no slash
        given = scope["path"].partition("/")[2].partition("/")[0].encode("utf-8", "replace")
        if hmac.compare_digest(given, self._token):
            await self._app(scope, receive, send_guarded)
        else:
            await PlainTextResponse(_MISSING, 404)(scope, receive, send_guarded)


def _text(name: str) -> str:
    return (_STATIC / name).read_text(encoding="utf-8")


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
    token = secrets.token_urlsafe(16)
    site = Site(place, token, control=control, safe=safe)
    if safe and not until_eof:
        site.try_pages()
        safe_bounds.lift()
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        # who reads the address may use it at once
        listener.listen()
    except OSError as error:
        listener.close()
        raise RingmasterError(f"cannot serve on port {port}: {error.strerror}") from error
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
