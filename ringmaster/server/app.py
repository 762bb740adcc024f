"""The routes of the live page.

Every address begins with a secret token, and the host of a request must be a loopback name: a
page of another site can neither read nor guess anything.  Requests change nothing, unless the
server was started with control.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ringmaster.errors import RingmasterError
from ringmaster.reporting.page import LiveOptions, render_index, render_page
from ringmaster.server.watched import Watched, changed

#: Seconds between two looks at the files.
PERIOD = 0.5
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


class Mail:
    """Changed parts that one reader has not read yet: the latest of each, however slow it is."""

    def __init__(self) -> None:
        self._parts: dict[str, Any] = {}
        self._ended = False
        self._news = asyncio.Event()

    def put(self, parts: Mapping[str, Any]) -> None:
        """Add changed parts."""
        self._parts.update(parts)
        self._news.set()

    def end(self) -> None:
        """Let `take` return None after the last parts."""
        self._ended = True
        self._news.set()

    async def take(self) -> dict[str, Any] | None:
        """Return the changed parts as soon as there are any, None at the end."""
        await self._news.wait()
        parts, self._parts = self._parts, {}
        if not self._ended:
            self._news.clear()
        return parts or None


class Hub:
    """Looks at one competition while somebody watches it, and tells them what has changed."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self._mails: set[Mail] = set()
        self._task: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._parts: dict[str, Any] = {}
        self._seen: dict[str, str] = {}
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
        """Yield the parts, then changed parts as they come, until the server ends."""
        mail = Mail()
        self._mails.add(mail)
        if self._parts:
            mail.put(self._parts)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
        try:
            while (parts := await mail.take()) is not None:
                yield {"data": msgspec.json.encode(parts).decode()}
        finally:
            self._mails.discard(mail)
            if not self._mails and self._task is not None:
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
        fresh = changed(fresh, self._seen)
        if fresh:
            self._parts |= fresh
            for mail in self._mails:
                mail.put(fresh)

    async def last_look(self) -> None:
        """Tell the last changes, and end all events."""
        if self._mails:
            assert self._task is not None
            self._task.cancel()
            self.watched.hurry()
            await self._send_changes()
        for mail in self._mails:
            mail.end()


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
        options = LiveOptions("events", html, (_text("live.js"),), (_text("live.css"),))
        return HTMLResponse(render_page(page, options))

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
        command = (await request.body())[:100].decode("ascii", "replace").strip()
        try:
            self._control(hub.watched.path, command)
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
