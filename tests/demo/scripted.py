"""Engines without a process: scripted input, recorded output, and short commands."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from ringmaster.demo.console import Console
from ringmaster.demo.universal import UniversalEngine


class ScriptedConsole(Console):
    """A Console with scripted input.

    lines    the input; None makes `read_nowait` return None once
    written  output written by the engine itself
    """

    def __init__(self, lines: Iterable[str | None] = ()) -> None:
        self.lines: deque[str | None] = deque(lines)
        self.written: list[str] = []

    def read(self) -> str | None:
        while self.lines:
            line = self.lines.popleft()
            if line is not None:
                return line
        return None

    def read_nowait(self) -> str | None:
        return self.lines.popleft() if self.lines else None

    @property
    def at_end(self) -> bool:
        return not self.lines

    def unread(self, lines: Iterable[str]) -> None:
        self.lines.extendleft(reversed(list(lines)))

    def write(self, lines: Iterable[str]) -> None:
        self.written += lines


class QuietConsole(ScriptedConsole):
    """A console on which nothing arrives and that never ends."""

    at_end = False


def with_options(engine: UniversalEngine, options: dict[str, int]) -> UniversalEngine:
    for name, value in options.items():
        assert engine.handle(f"setoption name {name} value {value}") == []
    return engine


def best(engine: UniversalEngine, position: str, limit: str = "depth 1") -> str:
    """Return the engine's move in a position."""
    assert engine.handle(f"position {position}") == []
    answer = engine.handle(f"go {limit}")
    assert answer[-1].startswith("bestmove ")
    return answer[-1].removeprefix("bestmove ")
