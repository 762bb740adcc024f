"""Write game records in PGN, for chess and its variants.

Engine text is cleaned first, so that every record parses.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Final

from ringmaster.formats.annotations import (
    assignments,
    note_lines,
    player_name,
    search_details,
    search_summary,
)
from ringmaster.games.clean_text import one_line, shown
from ringmaster.games.game import plies_before
from ringmaster.games.san import san_moves
from ringmaster.model.results import GameRecord, MoveRecord

_SIDES: Final = ("White", "Black")
_RESULTS: Final = ("1-0", "0-1", "1/2-1/2", "*")
_WIDTH: Final = 79

#: Values of the Termination tag in the PGN standard.
_TERMINATION: Final = {
    reason: termination
    for termination, reasons in (
        ("adjudication", ("move limit", "adjudicated draw", "adjudicated win", "tablebases")),
        ("time forfeit", ("time", "stall")),
        ("rules infraction", ("illegal move", "refused", "limit")),
        ("abandoned", ("crash", "hang", "protocol", "start", "setup")),
    )
    for reason in reasons
}

_DRAWS: Final = {
    "stalemate": "Draw by stalemate",
    "repetition": "Draw by threefold repetition",
    "50 moves": "Draw by the 50-move rule",
    "material": "Draw by insufficient material",
    "move limit": "Draw by the move limit",
    "adjudicated draw": "Draw by adjudication",
    "tablebases": "Draw by tablebases",
}

#: The winner's part in games without a fault.
_WINS: Final = {
    "mate": "mates",
    "adjudicated win": "wins by adjudication",
    "tablebases": "wins by tablebases",
}

#: The loser's fault; a void game names no player.
_FAULTS: Final = {
    "resignation": "resigns",
    "time": "loses on time",
    "stall": "loses on time, stalling",
    "illegal move": "makes an illegal move",
    "refused": "refuses a command",
    "crash": "crashes",
    "limit": "exceeds a limit of memory, CPU or processes",
    "hang": "hangs",
    "protocol": "breaks the protocol",
    "start": "does not start",
    "setup": "cannot be set up",
}


def write_pgn(record: GameRecord) -> str:
    """Return `record` as one PGN game, ending in an empty line.

    Player 0 is White.  Comments on moves have the field's style,
    {+0.31/12 0.520s, sd=20, n=1234, [%clk 0:00:09.500]}, with scores from the mover's side.
    Moves of the opening have the comment {book}.  The last comment gives the reason of the
    result.  An illegal move ends the record, with a comment.
    """
    result = record.score if record.score in _RESULTS else "*"
    movetext, plies = _movetext(record)
    closing = _comment(_closing_comment(record, result))
    pairs = _tags(record, result, plies)
    tags = "".join(f'[{name} "{_quoted(value)}"]\n' for name, value in pairs if value)
    return f"{tags}\n{_wrapped([*movetext, closing, result])}\n\n"


def _tags(record: GameRecord, result: str, plies: int) -> Iterator[tuple[str, str]]:
    """Yield the seven tag roster, then the other tags, some without a value."""
    yield "Event", one_line(record.event) or "?"
    yield "Site", "?"
    is_date = re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", record.date)
    yield "Date", record.date.replace("-", ".") if is_date else "????.??.??"
    yield "Round", str(record.round or "?")
    for i, side in enumerate(_SIDES):
        yield side, player_name(record, i)
    yield "Result", result
    variant = record.settings.variant
    if variant != "standard":
        yield "Variant", _VARIANTS.get(variant, variant)
    if record.opening.fen is not None:
        yield "SetUp", "1"
        yield "FEN", record.opening.fen
    name = one_line(record.opening.name)
    eco = _ECO.fullmatch(name)
    if eco is not None:
        yield "ECO", eco[1]
        name = eco[2]
    yield "Opening", name
    yield from _time_tags(record)
    yield "Termination", _TERMINATION.get(record.reason, "normal")
    yield "PlyCount", str(plies)
    yield "GameId", one_line(record.game_id) or "?"
    for i, side in enumerate(_SIDES):
        yield f"{side}Build", record.builds[i]
        yield f"{side}Parameters", assignments(record.parameters[i])


#: Names of variants in other programs; other variants keep their name of UCI_Variant.
_VARIANTS: Final = {
    "chess960": "Chess960",
    "3check": "Three-check",
    "kingofthehill": "King of the Hill",
    "racingkings": "Racing Kings",
}
#: An opening's name with its ECO code: "B90 Sicilian: Najdorf".
_ECO: Final = re.compile(r"([A-E][0-9]{2})(?![0-9A-Za-z])[\s:,]*(.*)")


def _time_tags(record: GameRecord) -> Iterator[tuple[str, str]]:
    """Yield the limits of the game, its start, end and duration.

    TimeControl follows the standard (PGN 9.6.1), with fractions of a second.  Limits in
    nodes, depth or time a move have tags of their own.
    """
    controls = ["-" if clock is None else str(clock) for clock in record.clocks]
    if controls[0] == controls[1]:
        yield "TimeControl", controls[0]
    else:
        for side, control in zip(_SIDES, controls, strict=True):
            yield f"{side}TimeControl", control
    for side, control, words in zip(_SIDES, controls, record.time_controls, strict=True):
        if words and words != control:
            yield f"{side}Limits", words
    if record.started is not None:
        yield "GameStartTime", _moment(record.started)
        yield "GameEndTime", _moment(record.started + record.seconds)
        minutes, seconds = divmod(int(record.seconds), 60)
        yield "GameDuration", f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}"


def _moment(seconds: float) -> str:
    """Return seconds since the epoch as local time with its offset from UTC."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")


def _movetext(record: GameRecord) -> tuple[list[str], int]:
    """Return moves and comments in their order, and the number of plies."""
    fen = record.opening.fen
    try:
        sans = san_moves(record.settings.variant, fen, [move.move for move in record.moves])
    except ValueError as error:
        return [_comment(f"The opening cannot be shown: {error}")], 0
    pieces: list[str] = []
    book = record.opening.moves
    booked = len(book)
    info = record.settings.record_info
    with_time = record.settings.record_times
    after_comment = True
    number, black = divmod(plies_before("chess", fen) + 2, 2)
    for ply, (move, san) in enumerate(zip(record.moves, sans, strict=False)):
        if not black:
            pieces.append(f"{number}. {san}")
        else:
            pieces.append(f"{number}... {san}" if after_comment else san)
            number += 1
        black = not black
        if ply < booked and move.move == book[ply]:
            comment = "{book}"
        elif info or move.comment:
            parts = _comment_parts(move, info, with_time)
            comment = _comment(", ".join(filter(None, parts)))
        else:
            summary = search_summary(move, with_time)
            comment = f"{{{summary}}}" if summary else ""
        if comment:
            pieces.append(comment)
        after_comment = bool(comment)
    if len(sans) < len(record.moves):
        illegal = shown(record.moves[len(sans)].move)
        pieces.append(_comment(f"The move {illegal} is not legal here"))
    return pieces, len(sans)


def _comment_parts(move: MoveRecord, info: Collection[str], with_time: bool) -> Iterator[str]:
    """Yield the parts of a move's comment."""
    yield search_summary(move, with_time)
    yield from search_details(move, info)
    if "left" in info and move.left is not None:
        # viewers of PGN read clocks in this form only
        whole, fraction = divmod(round(max(move.left, 0.0) * 1000), 1000)
        yield f"[%clk {whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}.{fraction:03d}]"
    yield one_line(move.comment)


def _closing_comment(record: GameRecord, result: str) -> str:
    """Return the reason of the result: "White mates", "Black loses on time (…)"."""
    reason, detail = one_line(record.reason), one_line(record.detail)
    if result == "*" and reason in _FAULTS:
        sentence = f"Void game: an engine {_FAULTS[reason]}"
    elif result == "*":
        sentence = f"No result: {reason}" if reason else "No result"
    elif result == "1/2-1/2":
        sentence = _DRAWS.get(reason, f"Draw: {reason}" if reason else "Draw")
    else:
        winner, loser = _SIDES if result == "1-0" else _SIDES[::-1]
        if reason in _FAULTS:
            sentence = f"{loser} {_FAULTS[reason]}"
        elif reason in _WINS:
            sentence = f"{winner} {_WINS[reason]}"
        else:
            sentence = f"{winner} wins" + (f": {reason}" if reason else "")
    sentence += f" ({detail})" if detail else ""
    return "; ".join([sentence, *map(one_line, note_lines(record))])


def _comment(text: str) -> str:
    """Return a comment, "" without words.

    Parentheses replace braces, which PGN cannot quote.
    """
    words = " ".join(one_line(text, 2000).translate(_BRACES).split())
    return f"{{{words}}}" if words else ""


_BRACES: Final = str.maketrans("{}", "()")


def _wrapped(pieces: list[str]) -> str:
    """Return moves and comments on lines of at most 79 characters.

    A comment is never broken, since many programs read PGN line by line; a long comment has
    a line of its own.
    """
    finished: list[str] = []
    line = ""
    for piece in pieces:
        if len(line) + len(piece) >= _WIDTH and line:
            finished.append(line)
            line = piece
        else:
            line = f"{line} {piece}" if line else piece
    return "\n".join([*finished, line])


def _quoted(value: str) -> str:
    """Return a tag's value, cleaned and escaped."""
    return one_line(value, 10_000).replace("\\", "\\\\").replace('"', '\\"')
