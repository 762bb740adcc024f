"""A scripted dialogue: an exchange is fed the lines of an engine, no process."""

from __future__ import annotations

from ringmaster.engines.exchange import Exchange


def converse(exchange: Exchange, *lines: str) -> list[str]:
    """Feed lines until the exchange is complete; returns the lines left over.

    Fails when the exchange is still waiting after the last line.
    """
    for i, line in enumerate(lines):
        if exchange.feed(line.encode()):
            return list(lines[i + 1 :])
    raise AssertionError(f"{exchange.request!r} is still waiting after {lines!r}")


def still_waits(exchange: Exchange, *lines: str) -> bool:
    """Whether an exchange is not complete after these lines."""
    answers = [exchange.feed(line.encode()) for line in lines]
    return not any(answers)
