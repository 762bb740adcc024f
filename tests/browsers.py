"""Pages in Chromium; a message on the console fails the test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.processes import LONG
from tests.requirements import engine, package


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a browser."""
    playwright = package("playwright.sync_api")
    path = engine("chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def silent_page(browser: Any, **settings: Any) -> Iterator[Any]:
    """Yield a page.  At its end, fail for any message, error, dialog or failed request."""
    opened = browser.new_page(reduced_motion="reduce", **settings)
    opened.set_default_timeout(1000 * LONG)
    messages: list[str] = []
    opened.on("console", lambda message: messages.append(message.text))
    opened.on("pageerror", lambda error: messages.append(str(error)))
    opened.on("dialog", lambda dialog: messages.append(dialog.message))
    opened.on("requestfailed", lambda request: messages.append(f"failed: {request.url}"))
    opened.messages = messages
    yield opened
    opened.close()
    assert not messages, messages


def leave(page: Any) -> None:
    """Leave a page whose server has ended, and forget the messages of its attempts to go on."""
    page.goto("about:blank")
    page.messages.clear()
