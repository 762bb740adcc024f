"""Exchanges of the check of UCI and USI engines, and what the answers say.

`engines` keeps of a search what a game needs; here everything is kept that a test
may want to look at, within bounds.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

from ringmaster.engines.exchange import Exchange
from ringmaster.games.text import one_line

#: Info lines kept of one search, the last ones, and bytes read of each.
INFO_LINES = 200
INFO_BYTES = 4096
#: Lines kept of what nobody asked for.
OVERHEARD = 5

_NUMBER = re.compile(r"[+-]?\d{1,15}")
_COUNTS = ("depth", "seldepth", "time", "nodes", "nps", "hashfull", "tbhits", "multipv")


@dataclass
class Info:
    """One info line: its numbers, its score, its line of play.

    score  centipawns; mate: as the protocol counts, None where it is only said
           that there is a mate ("+", "-" in USI), see `sign`
    sign   +1 or -1 by the score or the mate, 0 for neither
    bound  whether the score is a bound only
    """

    counts: dict[str, int] = field(default_factory=dict)
    score: int | None = None
    mate: int | None = None
    is_mate: bool = False
    sign: int = 0
    bound: bool = False
    pv: tuple[str, ...] = ()
    problem: str = ""

    @classmethod
    def parse(cls, line: bytes) -> Info:
        """Read a line; `problem` says what cannot be understood."""
        info = cls()
        words = line.decode("utf-8", "replace").split()
        i = 1
        while i < len(words):
            word = words[i]
            value = words[i + 1] if i + 1 < len(words) else ""
            i += 1
            if word == "string":
                break
            if word == "pv":
                info.pv = tuple(words[i:])
                break
            if word in _COUNTS:
                if _NUMBER.fullmatch(value):
                    info.counts[word] = int(value)
                else:
                    info.problem = f"{word} {one_line(value, 20)!r} is no number"
                i += 1
            elif word == "score":
                i = info._read_score(words, i)
        return info

    def _read_score(self, words: list[str], i: int) -> int:
        """Read what follows "score"; returns the index of the next word."""
        kind, value = (*words[i : i + 2], "", "")[:2]
        if kind == "cp" and _NUMBER.fullmatch(value):
            self.score = int(value)
            self.sign = (self.score > 0) - (self.score < 0)
        elif kind == "mate" and (_NUMBER.fullmatch(value) or value in ("+", "-")):
            self.is_mate = True
            self.mate = int(value) if value not in ("+", "-") else None
            # "mate 0" is said of the side that has been mated
            self.sign = 1 if not value.startswith("-") and self.mate != 0 else -1
        else:
            self.problem = f"score {one_line(f'{kind} {value}', 30)!r} is neither cp nor mate"
        i += 2
        while words[i : i + 1] and words[i] in ("lowerbound", "upperbound"):
            self.bound = True
            i += 1
        return i


class Think(Exchange):
    """position … go … bestmove, or what of it is still to come.

    infos  the last info lines, continued when given
    """

    def __init__(self, request: bytes, infos: deque[bytes] | None = None) -> None:
        self.request = request
        self.infos: deque[bytes] = deque(maxlen=INFO_LINES) if infos is None else infos
        self.bestmove = ""
        self.ponder = ""

    def feed(self, line: bytes) -> bool:
        if line.startswith(b"info"):
            if len(line) <= INFO_BYTES:
                self.infos.append(line)
            return False
        if not line.startswith(b"bestmove"):
            return False
        words = [one_line(w, 40) for w in line[:200].decode("utf-8", "replace").split()]
        self.bestmove = words[1] if len(words) > 1 else ""
        if words[2:3] == ["ponder"]:
            self.ponder = words[3] if len(words) > 3 else ""
        return True


class Word(Exchange):
    """A request that is answered by one word, readyok or uciok; `others` are the
    first lines besides info lines that came before it."""

    def __init__(self, request: bytes, word: bytes) -> None:
        self.request = request
        self._word = word
        self.others: list[str] = []

    def feed(self, line: bytes) -> bool:
        if line.strip() == self._word:
            return True
        if line.strip() and not line.startswith(b"info") and len(self.others) < OVERHEARD:
            self.others.append(one_line(line[:500].decode("utf-8", "replace"), 100))
        return False


class Overhear(Exchange):
    """Listens until its time is over; `lines` are the first that are not empty."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def feed(self, line: bytes) -> bool:
        if line.strip() and len(self.lines) < OVERHEARD:
            self.lines.append(one_line(line[:500].decode("utf-8", "replace"), 100))
        return False


@dataclass
class Answer:
    """What came of a search.

    ms           from the last byte of `go` to the first sight of bestmove
    was_stopped  whether it had to be told to stop, its limit having no effect
    """

    bestmove: str
    ponder: str
    infos: list[Info]
    ms: float
    was_stopped: bool = False

    def most(self, name: str) -> int | None:
        """Return the highest number of that name in the info lines, or None."""
        found = [info.counts[name] for info in self.infos if name in info.counts]
        return max(found, default=None)

    def verdict(self) -> Info | None:
        """Return the last info line with an exact score of the best line, any
        score if there is no exact one."""
        scored = [
            info
            for info in self.infos
            if (info.score is not None or info.is_mate) and info.counts.get("multipv", 1) == 1
        ]
        exact = [info for info in scored if not info.bound]
        return next(reversed(exact or scored), None)
