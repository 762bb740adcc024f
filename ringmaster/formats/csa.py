"""Write game records in the CSA's standard format, version 2.2, for shogi.

Engine text is cleaned first, so that every record parses.

Source: http://www2.computer-shogi.org/protocol/record_v22.html.  Comments with scores and
lines ('** score line) follow floodgate: from Black's side, after the move.  The first line
comes from version 3 and declares UTF-8; readers of version 2.2 take it for a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rsshogi.core import Board

from ringmaster.formats.annotations import (
    closing_lines,
    player_lines,
    player_name,
    search_summary,
)
from ringmaster.games.clean_text import one_line
from ringmaster.games.sfen import HAND_LETTERS, START_SFEN, held_of, ranks_of
from ringmaster.games.shogi import (
    Step,
    black_score,
    details,
    ending_kind,
    expected_line,
    legal_line,
    play_step,
    start_of,
)
from ringmaster.model.results import GameRecord, MoveRecord
from ringmaster.model.time_control import TimeControl

_PIECES: Final = {
    "P": "FU",
    "L": "KY",
    "N": "KE",
    "S": "GI",
    "G": "KI",
    "B": "KA",
    "R": "HI",
    "K": "OU",
    "+P": "TO",
    "+L": "NY",
    "+N": "NK",
    "+S": "NG",
    "+B": "UM",
    "+R": "RY",
}

#: The last line of the moves.  Version 2.2 has no word for perpetual check, which is written
#: as a fault (#OUTE_SENNICHITE belongs to the server protocol).  Mate is written as
#: resignation, since readers without %TSUMI take it for a draw.
_ENDINGS: Final = {
    "lost": "%TORYO",
    "time": "%TIME_UP",
    "illegal": "%ILLEGAL_MOVE",
    "won": "%KACHI",
    "black fault": "%+ILLEGAL_ACTION",
    "white fault": "%-ILLEGAL_ACTION",
    "repetition": "%SENNICHITE",
    "impasse": "%HIKIWAKE",
    "draw": "%JISHOGI",
    "stopped": "%CHUDAN",
}

_SIDES: Final = ("Black", "White")
_SIGNS: Final = "+-"


def write_csa(record: GameRecord) -> str:
    """Return `record` as one game in CSA format, ending in a newline.

    Player 0 is Black.  Times are whole seconds, rounded down; comments have the exact time.
    An illegal move ends the record, with a comment.

    Raises ValueError for a record of another game than shogi.
    """
    if record.settings.game != "shogi":
        raise ValueError(f"CSA records are for shogi, not for {record.settings.game}")
    return "".join(f"{line}\n" for line in _lines(record))


def _lines(record: GameRecord) -> Iterator[str]:
    yield "'CSA encoding=UTF-8"
    yield "V2.2"
    for i, sign in enumerate(_SIGNS):
        yield f"N{sign}{player_name(record, i)}"
    for name, value in _information(record):
        if value:
            yield f"${name}:{value}"
    yield from _comment(f"game {one_line(record.game_id)}")
    for text in player_lines(record, _SIDES):
        yield from _comment(text)
    try:
        start = start_of(record)
    except ValueError as error:
        yield from _position(START_SFEN)
        yield from _comment(f"The opening cannot be shown: {error}")
        yield "%CHUDAN"
        return
    yield from _position(start)
    yield from _moves(record, Board(start))


def _information(record: GameRecord) -> Iterator[tuple[str, str]]:
    yield "EVENT", one_line(record.event)
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", record.date):
        yield "START_TIME", record.date.replace("-", "/")
    yield "TIME_LIMIT", _time_limit(record.clocks)
    yield "OPENING", one_line(record.opening.name)


def _time_limit(clocks: tuple[TimeControl | None, TimeControl | None]) -> str:
    """Return "00:25+10": hours and minutes for the game, and seconds of byo-yomi.

    "" stands for other clocks, and for two different clocks.
    """
    control = clocks[0]
    if control is None or control != clocks[1]:
        return ""
    minutes, seconds = divmod(control.base, 60)
    plain = not (control.moves or control.increment or control.stones or control.periods > 1)
    if not plain or seconds or control.period % 1 or minutes >= 6000:
        return ""
    hours, rest = divmod(int(minutes), 60)
    return f"{hours:02}:{rest:02}+{int(control.period):02}"


def _position(sfen: str) -> Iterator[str]:
    """Yield the start position and the side to move."""
    board, side, hands, _ = sfen.split()
    for number, rank in enumerate(ranks_of(board), 1):
        text = f"P{number}"
        for piece in rank:
            sign = "+" if piece.isupper() else "-"
            text += f"{sign}{_PIECES[piece.upper()]}" if piece else " * "
        yield text
    held = held_of(hands)
    for sign, letters in zip(_SIGNS, HAND_LETTERS, strict=True):
        pieces = "".join(f"00{_PIECES[letter.upper()]}" * held[letter] for letter in letters)
        if pieces:
            yield f"P{sign}{pieces}"
    yield "+" if side == "b" else "-"


def _moves(record: GameRecord, board: Board) -> Iterator[str]:
    book = record.opening.moves
    for ply, move in enumerate(record.moves):
        try:
            step = play_step(board, move.move)
        except ValueError as error:
            yield from _comment(f"The move cannot be shown: {error}")
            yield "%CHUDAN"
            break
        yield _csa_move(step)
        # some readers add up times wrongly where a move has none
        yield f"T{int(move.seconds or 0)}"
        if ply < len(book) and move.move == book[ply]:
            yield from _comment("*book")
        else:
            yield from _move_comment(record, board, step, move)
    else:
        yield _ENDINGS[ending_kind(record, 0 if board.turn.is_black() else 1)]
    for text in closing_lines(record):
        yield from _comment(text)


def _move_comment(record: GameRecord, board: Board, step: Step, move: MoveRecord) -> Iterator[str]:
    wanted = record.settings.record_info
    score = black_score(move, step.side)
    if score is not None:
        words = [f"'** {score}"]
        if "pv" in wanted:
            words += map(_csa_move, legal_line(board, expected_line(move)))
        yield " ".join(words)
    summary = search_summary(move, record.settings.record_times)
    more = details(move, wanted)
    if more:
        summary = f"{summary}, {more}" if summary else more
    if summary:
        yield from _comment(f"*{summary}")
    if move.comment:
        yield from _comment("\n".join(f"*{line}" for line in move.comment.splitlines()))


def _csa_move(step: Step) -> str:
    return f"{_SIGNS[step.side]}{step.start or '00'}{step.target}{_PIECES[step.piece_after]}"


def _comment(text: str) -> Iterator[str]:
    """Yield the lines of a comment."""
    for line in text.splitlines():
        # engine text must not look like a score
        cleaned = one_line(line, 2000)
        if cleaned.lstrip("*"):
            yield "'" + (_STARS.sub("*", cleaned, count=1) if cleaned.startswith("**") else cleaned)


_STARS: Final = re.compile(r"\*\*+ ?")
