"""Write game records of shogi in CSA's format, version 2.2, and in KIF.

rsshogi writes both formats.  This module cleans engine text, so that every record parses, and
writes the comments on moves.  Scores and lines are in the forms that other programs read:
floodgate's ('** score line) in CSA, ShogiHome's (**評価値=score) in KIF.  rsshogi itself would
omit the lines.  Scores are Black's, after the move.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from rsshogi.core import Board
from rsshogi.initial_positions import SFEN_TO_HANDICAP
from rsshogi.record import (
    GameResult,
    MoveEntry,
    Record,
    RecordMetadata,
    SpecialMoveEntry,
    TimeControl,
)

from ringmaster.formats.annotations import (
    closing_lines,
    player_lines,
    player_name,
    search_details,
    search_summary,
)
from ringmaster.games.clean_text import one_line, shown
from ringmaster.games.sfen import START_SFEN, normalise_sfen
from ringmaster.games.shogi import USI_MOVES
from ringmaster.model.results import GameRecord, MoveRecord

#: Score of a mate, less its distance in plies; it fits into 16 bits.
MATE_SCORE: Final = 32_000

#: Faults that either player can commit, even with the other to move.
_FAULTS: Final = frozenset(
    (
        *("refused", "crash", "limit", "hang", "protocol", "start", "setup", "perpetual check"),
        *("illegal move", "illegal declaration"),
    )
)
#: More than ten pawns in hand, which rsshogi does not write in Chinese numerals.
_MANY_PAWNS: Final = re.compile("(?<=手の持駒：歩)1([1-8])")


def write_csa(record: GameRecord) -> str:
    """Return `record` as one game in CSA format, ending in a newline.

    Player 0 is Black.  Times are whole seconds, rounded down; comments have the exact time.
    An illegal move ends the record, with a comment.  The first line comes from version 3 and
    declares UTF-8; readers of version 2.2 take it for a comment.

    Raises ValueError for a record of another game than shogi.
    """
    return "'CSA encoding=UTF-8\n" + _record_of(record, is_csa=True).to_csa()


def write_kif(record: GameRecord) -> str:
    """Return `record` as one game in KIF, UTF-8, ending in a newline.

    See `write_csa`; Black is 下手 in a handicap game.
    """
    written = _record_of(record, is_csa=False)
    text = _MANY_PAWNS.sub(
        lambda match: "十" + "一二三四五六七八"[int(match[1]) - 1], written.to_kif()
    )
    # rsshogi omits the comment of an ending
    moves, result, score = text.rpartition("\nまで")
    comment = "".join(f"\n*{line}" for line in (written.end_comment or "").splitlines())
    return f"#KIF version=2.0 encoding=UTF-8\n{moves}{comment}{result}{score}"


def _record_of(record: GameRecord, *, is_csa: bool) -> Record:
    """Return a record in rsshogi's form."""
    if record.settings.game != "shogi":
        format = "CSA" if is_csa else "KIF"
        raise ValueError(f"{format} records are for shogi, not for {record.settings.game}")
    start, moves, fault = START_SFEN, record.moves, ""
    if record.opening.fen is not None:
        try:
            start = normalise_sfen(record.opening.fen)
        except ValueError as error:
            moves, fault = (), f"The opening cannot be shown: {error}"
    board = Board(start)
    book = record.opening.moves
    entries = []
    for ply, move in enumerate(moves):
        step = USI_MOVES.get(move.move)
        if step is None or not board.is_legal_move(step):
            fault = f"The move cannot be shown: {shown(move.move)} is not legal here"
            break
        is_black = board.turn.is_black()
        board.apply_move(step)
        if ply < len(book) and move.move == book[ply]:
            comment = "book"
        else:
            comment = "\n".join(_move_comment(record, board, move, is_black, is_csa))
        # some readers add up times wrongly where a move has none
        time = 1000 * int(move.seconds or 0)
        entries.append(MoveEntry(step, time_ms=time, comment=comment or None))
    opening = [f"game {one_line(record.game_id)}", *player_lines(record, ("Black", "White"))]
    return Record(
        start,
        entries,
        _metadata(record, start, is_csa),
        _ending(record, board.turn.is_black(), fault, is_csa),
        _comment(opening),
    )


def _metadata(record: GameRecord, start: str, is_csa: bool) -> RecordMetadata:
    is_date = re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", record.date)
    metadata = RecordMetadata(
        event=one_line(record.event) or None,
        time_control=_time_control(record),
        start_date=record.date.replace("-", "/") if is_date else None,
    )
    opening = one_line(record.opening.name)
    if opening:
        metadata.set_attribute("OPENING" if is_csa else "戦型", opening)
    black, white = player_name(record, 0), player_name(record, 1)
    handicap = SFEN_TO_HANDICAP.get(f"{start.rpartition(' ')[0]} 1", "平手")
    if is_csa or handicap == "平手":
        metadata.black_player, metadata.white_player = black, white
    else:
        metadata.set_attribute("下手", black)
        metadata.set_attribute("上手", white)
    return metadata


def _time_control(record: GameRecord) -> TimeControl | None:
    """Return whole minutes with seconds of byo-yomi, None for other or different clocks."""
    control, other = record.clocks
    if control is None or control != other:
        return None
    plain = not (control.moves or control.increment or control.stones or control.periods > 1)
    if not plain or control.base % 60 or control.period % 1 or control.base >= 360_000:
        return None
    return TimeControl(int(control.base), int(control.period), 0)


def _ending(record: GameRecord, black_to_move: bool, fault: str, is_csa: bool) -> SpecialMoveEntry:
    """Return the ending with the closing comment.

    The formats have no word for a win of the side to move without a declaration, nor for a
    loss on time of the other side: these are interrupted games, with the result in the comment.
    """
    comment = _comment([fault, *closing_lines(record)])
    result, kind = GameResult.PAUSED, ""
    if not fault and record.score == "1/2-1/2":
        if record.reason == "repetition":
            result = GameResult.DRAW_BY_REPETITION
        else:
            result = GameResult.DRAW_BY_IMPASSE
            kind = "" if record.reason == "impasse" else "DRAW"
    elif not fault and record.score in ("1-0", "0-1"):
        black_won = record.score == "1-0"
        winner = "BLACK_WIN" if black_won else "WHITE_WIN"
        if record.reason in _FAULTS:
            result = GameResult.from_str(f"{winner}_BY_ILLEGAL_MOVE")
        elif record.reason == "declaration" and black_won == black_to_move:
            result = GameResult.from_str(f"{winner}_BY_DECLARATION")
        elif record.reason in ("time", "stall") and black_won != black_to_move:
            result = GameResult.from_str(f"{winner}_BY_TIMEOUT")
        elif black_won != black_to_move:
            result = GameResult.from_str(winner)
            # readers of CSA without %TSUMI take it for a draw
            kind = "MATE" if record.reason == "mate" and not is_csa else ""
    if kind:
        return SpecialMoveEntry(kind, result, comment=comment)
    return SpecialMoveEntry.from_result(result, comment=comment)


def _move_comment(
    record: GameRecord, board: Board, move: MoveRecord, is_black: bool, is_csa: bool
) -> Iterator[str]:
    """Yield the lines of a comment on the move that leads to `board`."""
    wanted = record.settings.record_info
    score = move.score
    if move.mate is not None:
        distance = MATE_SCORE - min(abs(move.mate), 1000)
        score = -distance if move.mate <= 0 else distance
    line = list(_line(board, move, is_csa=is_csa)) if "pv" in wanted else []
    if score is not None:
        score = score if is_black else -score
        yield " ".join(["*", str(score), *line]) if is_csa else f"*評価値={score}"
    if line and not is_csa:
        yield "*読み筋=" + "".join(line)
    details = search_details(move, [name for name in wanted if name != "pv"])
    if "left" in wanted and move.left is not None:
        details.append(f"left={move.left:.3f}s")
    summary = search_summary(move, record.settings.record_times)
    yield from filter(None, [", ".join(filter(None, [summary, *details]))])
    yield from filter(None, [_comment([move.comment])])


def _line(board: Board, move: MoveRecord, *, is_csa: bool) -> Iterator[str]:
    """Yield the engine's line after its move, up to the first illegal move."""
    if not move.pv or move.pv[0] != move.move:
        return
    board = board.copy()
    for text in move.pv[1:]:
        step = USI_MOVES.get(text)
        if step is None or not board.is_legal_move(step):
            return
        word = board.move32_from_move(step).to_csa() if is_csa else step.to_ki2(board)
        yield word or ""
        board.apply_move(step)


def _comment(texts: Iterable[str]) -> str:
    """Return the lines of texts, cleaned; engine text must not look like a score."""
    lines = (line for text in texts for line in text.splitlines())
    cleaned = (one_line(line, 2000).lstrip("*").strip() for line in lines)
    return "\n".join(filter(None, cleaned))
