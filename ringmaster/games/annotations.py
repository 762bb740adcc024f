"""What game records say beside the moves, alike in every format."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from ringmaster.games.text import lines, one_line
from ringmaster.model.record import GameRecord, MoveRecord

#: What a record may say of a move beside score, depth and time: names of the
#: fields of MoveRecord, with what they are called in comments.
RECORD_INFO: Final = {
    "seldepth": "sd",
    "nodes": "n",
    "nps": "nps",
    "hashfull": "hashfull",
    "tbhits": "tbhits",
    "pv": "pv",
    "left": "left",
}
#: Moves of a line that are kept; engines print them without end.
_LONGEST_PV: Final = 100
_TWO_DIGITS: Final = [f"{number:02d}" for number in range(100)]
_THREE_DIGITS: Final = [f"{number:03d}" for number in range(1000)]


def wanted_details(info: Collection[str]) -> list[tuple[str, str]]:
    """Return fields of MoveRecord that are asked for with what they are called, in the
    order of records.  `left` is not among them, since each format has its own place for
    a clock."""
    return [(name, label) for name, label in RECORD_INFO.items() if name in info and name != "left"]


def search_details(move: MoveRecord, wanted: Iterable[tuple[str, str]]) -> list[str]:
    """Return what is known of a move of the fields that are asked for:
    ["sd=20", "n=1234", 'pv="e2e4 e7e5"']."""
    found = []
    for name, label in wanted:
        value = getattr(move, name)
        if value is None:
            continue
        if name == "pv":
            line = one_line(" ".join(value[:_LONGEST_PV]), 1000).replace('"', "'")
            found += [f'{label}="{line}"'] if line else []
        else:
            found.append(f"{label}={value}")
    return found


def search_summary(move: MoveRecord, with_time: bool = True) -> str:
    """Return score, depth and time as the field writes them: "+0.31/12 0.520s",
    "-M5/20 1.200s", or the known parts of it.  Scores are from the mover's side."""
    score, mate, seconds = move.score, move.mate, move.seconds
    time = "" if seconds is None or not with_time else _seconds(seconds)
    if mate is not None:
        text = f"{'-' if mate <= 0 else '+'}M{abs(mate)}"
    elif score is not None:
        text = _pawns(score) if score else "0.00"
    else:
        return time
    depth = move.depth
    if depth is not None:
        text = f"{text}/{depth}"
    return f"{text} {time}" if time else text


def _seconds(seconds: float) -> str:
    """Return the time with three decimals, as `"%.3f"` rounds it."""
    number = seconds * 1000 + 0.5
    whole = int(number)
    if seconds >= 0 and 1e-6 < number - whole < 1 - 1e-6:
        # a tenth of the time that formatting takes
        return f"{whole // 1000}.{_THREE_DIGITS[whole % 1000]}s"
    return f"{seconds:.3f}s"


def _pawns(score: int) -> str:
    """Return centipawns as "+0.31", as "%+.2f" has them."""
    size = abs(score)
    return f"{'-' if score < 0 else '+'}{size // 100}.{_TWO_DIGITS[size % 100]}"


def player_name(record: GameRecord, index: int) -> str:
    """Return the name of a player, or else its code, on one line."""
    return one_line(record.names[index]) or one_line(record.codes[index]) or "?"


def assignments(values: Mapping[str, Any]) -> str:
    """Return "a=1, b=0.5"."""
    return one_line(", ".join(f"{name}={value}" for name, value in values.items()), 10_000)


def reason_line(record: GameRecord) -> str:
    """Return "time: 3.2 s for move 17", or less when less is known."""
    return ": ".join(filter(None, (one_line(record.reason), one_line(record.detail))))


def player_lines(record: GameRecord, sides: tuple[str, str]) -> list[str]:
    """Return what is known of the players beside their names: "Black a: GNU Go",
    "Black time control: 10+0.1"."""
    found = []
    for i, side in enumerate(sides):
        about = ": ".join(filter(None, (one_line(record.codes[i]), lines(record.descriptions[i]))))
        found.append(f"{side} {about}")
        parameters = one_line(record.shown_parameters[i], 10_000) or assignments(
            record.parameters[i]
        )
        if parameters:
            found.append(f"{side} parameters: {parameters}")
        if record.time_controls[i]:
            found.append(f"{side} time control: {one_line(record.time_controls[i])}")
        cpu_time = record.cpu_times[i]
        if cpu_time is not None:
            found.append(f"{side} cpu time: {cpu_time:.2f}s")
    return found


def note_lines(record: GameRecord) -> list[str]:
    """Return the notes, cleaned, without empty ones."""
    return [note for note in map(lines, record.notes) if note]
