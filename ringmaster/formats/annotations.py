"""Texts beside the moves that records have in every format, written and read."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from ringmaster.games.clean_text import lines, one_line
from ringmaster.model.board import MATE
from ringmaster.model.results import GameRecord, MoveRecord

#: Optional details of a move: fields of MoveRecord, with their labels in comments.
RECORD_INFO: Final = {
    "seldepth": "sd",
    "nodes": "n",
    "nps": "nps",
    "hashfull": "hashfull",
    "tbhits": "tbhits",
    "pv": "pv",
    "left": "left",
}
#: Longest recorded line of moves; engines print longer ones.
_LONGEST_PV: Final = 100


def search_details(move: MoveRecord, info: Collection[str]) -> list[str]:
    """Return the known details of a move: ["sd=20", "n=1234", 'pv="e2e4 e7e5"'].

    info  names of the requested details; `left` is missing, since each format has its own place
          for a clock
    """
    texts = []
    for name, label in RECORD_INFO.items():
        value = getattr(move, name) if name in info else None
        if value is None or name == "left":
            continue
        if name == "pv":
            line = one_line(" ".join(value[:_LONGEST_PV]), 1000).replace('"', "'")
            texts += [f'{label}="{line}"'] if line else []
        else:
            texts.append(f"{label}={value}")
    return texts


def search_summary(move: MoveRecord, with_time: bool = True) -> str:
    """Return the known parts of "+0.31/12 0.520s" or "-M5/20 1.200s".

    These are score, depth and time in the field's style, from the mover's side.
    """
    score, mate, seconds = move.score, move.mate, move.seconds
    time = "" if seconds is None or not with_time else f"{seconds:.3f}s"
    if mate is not None:
        text = f"{'-' if mate <= 0 else '+'}M{abs(mate)}"
    elif score is not None:
        text = f"{score / 100:+.2f}" if score else "0.00"
    else:
        return time
    depth = move.depth
    if depth is not None:
        text = f"{text}/{depth}"
    return f"{text} {time}" if time else text


def analysis_summary(move: MoveRecord, with_time: bool = True) -> str:
    """Return the known parts of "62.34% +2.5 points 0.520s, 812 visits, pv D4 Q16".

    These are winrate, lead, time, visits and expected moves in Go, from the mover's side.
    """
    time = "" if move.seconds is None or not with_time else f"{move.seconds:.3f}s"
    if move.score is None:
        return time
    lead = "" if move.lead is None else f"{round(move.lead, 1) + 0:+.1f} points"
    words = [" ".join(filter(None, (f"{50 + move.score / 100:.2f}%", lead, time)))]
    words += [] if move.nodes is None else [f"{move.nodes} visits"]
    words += [one_line("pv " + " ".join(move.pv[:_LONGEST_PV]), 1000)] if move.pv else []
    return ", ".join(words)


#: Winrate and lead at the beginning of that summary.
_WINRATE: Final = re.compile(
    r"(100\.00|\d{1,2}\.\d\d)%(?: (?P<lead>[+-]\d{1,4}\.\d) points)?(?=[ ,]|$)"
)


def winrate_of(summary: str, side: int) -> tuple[float | None, re.Match[str] | None]:
    """Return Black's score as in MoveRecord at the beginning of a mover's summary, and the match
    with the mover's lead."""
    match = _WINRATE.match(summary)
    if match is None:
        return None, None
    return (-100 if side else 100) * (float(match[1]) - 50), match


#: The score at the beginning of a comment, with a depth.  Other programs have further forms.
_SCORE: Final = re.compile(
    r"\s*(?:\([^)]*\)\s*)?([+-]?)(?:[M#](\d{1,4})|(\d{1,5}\.\d+))(?:/(?P<depth>\d+))?(?=[\s,;]|$)(?!\s+s\b)"
)


def score_of(comment: str, side: int) -> tuple[float | None, re.Match[str] | None]:
    """Return the first player's score at the beginning of a mover's comment, and the match.

    Scores are centipawns, and mates as on boards.  The match has the depth.
    """
    match = _SCORE.match(comment)
    if match is None:
        return None, None
    sign, mate, pawns = match.group(1, 2, 3)
    score = round(100 * float(pawns), 3) if mate is None else float(MATE - int(mate))
    return -score if (sign == "-") != (side == 1) else score, match


def read_time_controls(text: str, sides: tuple[str, str]) -> tuple[str, ...]:
    """Return the time controls of both players from the lines of `player_lines`."""
    label = re.compile(rf"^({'|'.join(sides)}) time control: (.*)$", re.MULTILINE)
    controls = dict(label.findall(text))
    return tuple(controls.get(side, "") for side in sides)


def player_name(record: GameRecord, index: int) -> str:
    """Return a player's name, or its code, on one line."""
    return one_line(record.names[index]) or one_line(record.codes[index]) or "?"


def assignments(values: Mapping[str, Any]) -> str:
    """Return "a=1, b=0.5"."""
    return one_line(", ".join(f"{name}={value}" for name, value in values.items()), 10_000)


def reason_line(record: GameRecord) -> str:
    """Return the known parts of "time: 3.2 s for move 17"."""
    return ": ".join(filter(None, (one_line(record.reason), one_line(record.detail))))


def player_lines(record: GameRecord, sides: tuple[str, str]) -> list[str]:
    """Return lines on the players: "Black a: GNU Go", "Black time control: 10+0.1"."""
    texts = []
    for i, side in enumerate(sides):
        about = ": ".join(filter(None, (one_line(record.codes[i]), lines(record.descriptions[i]))))
        texts.append(f"{side} {about}")
        parameters = one_line(record.shown_parameters[i], 10_000) or assignments(
            record.parameters[i]
        )
        if parameters:
            texts.append(f"{side} parameters: {parameters}")
        if record.builds[i]:
            texts.append(f"{side} build: {record.builds[i]}")
        if record.time_controls[i]:
            texts.append(f"{side} time control: {one_line(record.time_controls[i])}")
        cpu_time = record.cpu_times[i]
        if cpu_time is not None:
            texts.append(f"{side} cpu time: {cpu_time:.2f}s")
    return texts


def note_lines(record: GameRecord) -> list[str]:
    """Return the notes, cleaned, without empty ones."""
    return [note for note in map(lines, record.notes) if note]


def closing_lines(record: GameRecord) -> list[str]:
    """Return "result 1-0, time: 3.2 s for move 17", and the notes."""
    reason = reason_line(record)
    result = f"result {one_line(record.score)}" + (f", {reason}" if reason else "")
    return [result, *note_lines(record)]
