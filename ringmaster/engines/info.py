"""The info lines of UCI and USI: what an engine says of its search.

Of a move's lines one is kept, as it came.  Its score is read after the move,
the rest only when somebody asks, which for a record is after the game.
"""

from __future__ import annotations

import re
from typing import Final

#: Bytes kept of an info line; a principal variation of 500 moves fits.
MAX_INFO: Final = 4096
#: What stands for a mate whose length an engine does not tell ("mate +", USI).
LONG_MATE: Final = 999

_SCORE: Final = re.compile(rb"\sscore\s+(cp|mate)\s+([+-]?\d{1,15}|[+-])(?!\S)")
# an engine may print anything; what has more digits than this is no number
_FIELD: Final = re.compile(
    rb"(?<!\S)(depth|seldepth|nodes|nps|hashfull|tbhits|time|multipv)\s+([+-]?\d{1,15})(?!\S)"
)
#: How most engines begin.
_DEPTH: Final = re.compile(rb"info depth (\d{1,15})(?!\S)")
#: What nothing is read behind.
_TEXT: Final = re.compile(rb"(?:\s|^)(?:pv|string)(?!\S)")


def read_score(line: bytes) -> tuple[int | None, int | None]:
    """Return the (centipawns, mate) of an info line, at most one of them not None.

    The score is the mover's.  A mate is in moves over UCI and in plies over USI;
    "mate +" and "mate -" are LONG_MATE, "mate -0" is one that has happened.
    """
    match = _SCORE.search(line)
    if match is None:
        return None, None
    kind, text = match.groups()
    if text in (b"+", b"-"):
        return None, (LONG_MATE if text == b"+" else -LONG_MATE) if kind == b"mate" else None
    return (int(text), None) if kind == b"cp" else (None, int(text))


def last_score_lines(lines: bytes) -> tuple[bytes, bytes]:
    """Return (exact, bound) of whole lines: the last info line with an exact
    score of the best move, b"" without one, and the last with a bound behind it.

    Found from behind, since engines print many.
    """
    bound, end = b"", len(lines)
    while (at := lines.rfind(b" score ", 0, end)) >= 0:
        end = lines.rfind(b"\n", 0, at) + 1
        stop = lines.find(b"\n", at)
        line = lines[end:stop] if stop >= 0 else lines[end:]
        # "info string" may say anything
        if not line.startswith(b"info ") or line.startswith(b"info st"):
            continue
        # with MultiPV the best line counts, which is the first
        if b" multipv " in line and b" multipv 1 " not in line:
            continue
        if b"bound" not in line:
            return line, bound
        bound = bound or line
    return b"", bound


def score_line(lines: bytes) -> bytes:
    """Return the info line of whole lines whose score counts: the last exact one, if there
    is none the last bound, b"" without either; of at most MAX_INFO bytes."""
    exact, bound = last_score_lines(lines)
    return (exact or bound)[:MAX_INFO]


def read_info(line: bytes) -> dict[str, int]:
    """Return the numbers of an info line by name, as far as it has them: "score"
    or "mate" as `read_score` has them, "depth", "seldepth", "nodes", "nps",
    "hashfull" (per mille), "tbhits", "time" (ms), "multipv"."""
    end = _TEXT.search(line)
    fields = _FIELD.findall(line if end is None else line[: end.start()])
    found = {name.decode(): int(number) for name, number in fields}
    score, mate = read_score(line)
    if score is not None:
        found["score"] = score
    if mate is not None:
        found["mate"] = mate
    return found


def read_depth(line: bytes) -> int | None:
    """Return `read_info`'s "depth" alone, at a fraction of the time."""
    start = _DEPTH.match(line)
    if start is not None and line.count(b"depth") == 1 + line.count(b"seldepth"):
        return int(start[1])
    return read_info(line).get("depth")


def read_pv(line: bytes) -> tuple[str, ...]:
    """Return the principal variation of an info line, () without one."""
    before, _, rest = line.partition(b" pv ")
    if b" string" in before:
        return ()
    # YaneuraOu and others end it with a remark: "pv 7g7f rep_draw"
    return tuple(word.decode("ascii", "replace") for word in rest.split())
