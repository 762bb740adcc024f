"""Write and read game records of shogi in CSA's format, version 2.2, and in KIF.

rsshogi writes and reads both formats.  The writer cleans engine text, so that every record parses,
and writes the comments on moves.  Scores and lines are in the forms that other programs read:
floodgate's ('** score line) in CSA, ShogiHome's (**評価値=score) in KIF.  rsshogi itself would
omit the lines.  Scores are Black's, after the move.

The reader takes scores from the comments '** of floodgate's programs in CSA, and in both formats
from comments with the word 評価値, as ShogiHome, ShogiGUI and Shogidokoro write them.  They are
from Black's side, for the move before the comment.  Variations and bookmarks of KIF are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from functools import partial
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
    read_time_controls,
    search_details,
    search_summary,
)
from ringmaster.formats.recorded_game import RESULTS, RecordedGame, limited
from ringmaster.formats.source import MATE, Source
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


# reading

#: Scores from here on are mates: other programs, too, subtract the distance in plies.
_MATES = MATE_SCORE - 2000

_SCORE = re.compile(
    r"評価値\s*[=:：]?\s*([+-]?)(?:(詰|Mate|mate)|([0-9]{1,6}(?:\.[0-9]+)?))|詰み=(先|後)手勝ち"
)
_GAME_ID = re.compile(r"^'?\*game (\S+)", re.MULTILINE)
_RESULT = re.compile(r"^'?\*result (\S+?),?(?:\s|$)", re.MULTILINE)
_CSA_MOVE = re.compile(r"(?:^|,)[+-][0-9]{4}[A-Z]{2}", re.MULTILINE)
_KIF_MOVE = re.compile(r"^\s*[0-9]+\s+\S", re.MULTILINE)
_NOT_CSA = re.compile(r"^[^VN$P+\-T'%\n]", re.MULTILINE)
#: The line at which a game begins, a heading that begins a game behind moves, and a move.
_CSA = (re.compile(r"/\Z"), re.compile(r"V[0-9]|N[+-]|P[I1]"), _CSA_MOVE)
_KIF_HEADING = re.compile("(?![*#&]|変化)[^：]*：|手数--|(?:手合割|[先後上下]手|開始日時):")
_KIF = (re.compile("#KIF"), _KIF_HEADING, _KIF_MOVE)
_HANDICAP = re.compile(r"^手合割[：:][ \u3000]*(?!平手)\S+", re.MULTILINE)
_ILLEGAL = re.compile(r"illegal move at index ([0-9]+)")
#: The rest of a last move, and an ending that tells of its fault.
_ILLEGAL_END = re.compile(
    r"[^\n]*\n(?:[T'*][^\n]*\n|[ \t]*\n)*[ \t]*(?:%[+-]?ILLEGAL|[0-9]+\s+反則)"
)


def game_texts(source: Source, *, is_csa: bool) -> Iterator[tuple[int, str]]:
    """Yield the texts of a file's games, after the numbers of their first lines."""
    begin, heading, move = _CSA if is_csa else _KIF
    first, game = 0, list[str]()
    has_moves = False
    for at, line in source.lines():
        line = line.rstrip()
        begins = begin.match(line) or (has_moves and heading.match(line))
        if begins and any(text and text[0] != "#" for text in game):
            yield first, "\n".join([*game, ""])
            game, has_moves = [], False
        # rsshogi does not know bookmarks, and drops many scores of comments that begin with **
        line = "" if line.startswith(("&", "/")) else line[line.startswith("**") :]
        if line or game:
            first = first if game else at
            game.append(line)
            has_moves = has_moves or move.match(line) is not None
    if game:
        yield first, "\n".join([*game, ""])


def _games(source: Source, *, is_csa: bool) -> Iterator[RecordedGame]:
    """Yield the games of a file, unfinished ones included.

    Bad games are left out and reported to `source`; the caller calls `source.finish`.  An
    illegal last move of a game that was lost by it is no fault of the file.

    Raises DataFileError.
    """
    texts = game_texts(source, is_csa=is_csa)
    for number, (first, text) in enumerate(texts, source.previous + 1):
        try:
            game, record = _recorded(text, number, first, is_csa=is_csa)
        except _Fault as fault:
            line = text.count("\n", 0, fault.place)
            quoted = shown(text.splitlines()[line].strip(), 60)
            source.bad(first + line, f"game {number}: {fault.message}: {quoted}", "bad games")
            continue
        if source.annotated:
            about = record.metadata
            game.date = (about.start_date or "").replace("/", "-")
            game.opening = about.attributes.get("OPENING") or about.attributes.get("戦型", "")
            comment = record.initial_comment or ""
            game.time_controls = read_time_controls(comment, ("Black", "White"))
            game.comments = [entry.comment or "" for entry in record.moves]
        yield game


csa_games, kif_games = partial(_games, is_csa=True), partial(_games, is_csa=False)


class _Fault(Exception):
    """A fault of a game.

    place  where it is in the text
    move   the illegal move, None for another fault
    """

    def __init__(self, place: int, message: str, move: re.Match[str] | None = None) -> None:
        super().__init__(message)
        self.place, self.message, self.move = place, message, move


def _recorded(text: str, number: int, line: int, *, is_csa: bool) -> tuple[RecordedGame, Record]:
    """Return the game of a text, whose first line is given.  Raises _Fault."""
    is_illegal = False
    # rsshogi begins games with an unknown handicap, without a diagram, from the usual position
    handicap = None if is_csa or "\n|" in text else _HANDICAP.search(text)
    if handicap and _parsed(f"{handicap[0]}\n", is_csa=False).init_position_sfen == START_SFEN:
        raise _Fault(handicap.start(), "this handicap needs a diagram of its position")
    try:
        record = _parsed(text, is_csa=is_csa)
    except _Fault as fault:
        if fault.move is None or not _ILLEGAL_END.match(text, fault.place):
            raise
        record = _parsed(text[: fault.move.start()] + "\n", is_csa=is_csa)
        is_illegal = True
    try:
        start = normalise_sfen(record.init_position_sfen)
    except ValueError as error:
        raise _Fault(0, str(error)) from None
    entries = record.moves
    if not entries and record.main_terminal is None and not is_illegal:
        raise _Fault(0, "it has no moves and no result")
    game_id = _GAME_ID.search(text)
    game = RecordedGame(
        number,
        line,
        "" if game_id is None else game_id[1],
        None if start == START_SFEN else start,
        [entry.move.to_usi() for entry in entries],
        [_score(entry) for entry in entries],
        first=int(record.init_position_sfen.split()[1] == "w"),
    )
    while game.book < len(entries) and entries[game.book].comment == "book":
        game.book += 1
    if is_illegal:
        game.result, game.is_forfeit = float((len(entries) + game.first) % 2), True
    else:
        game.result, game.is_forfeit = _outcome(record.result, text)
    return game, record


def _parsed(text: str, *, is_csa: bool) -> Record:
    """Return rsshogi's record of a text.  Raises _Fault, also for text that it passed over."""
    try:
        record = Record.from_csa_str(text) if is_csa else Record.from_kif_str(text)
    except ValueError as error:
        index = _ILLEGAL.search(str(error))
        if index is None:
            # rsshogi quotes the line at the end of its message
            place = text.find(str(error).rpartition(": ")[2].strip())
            raise _Fault(max(place, 0), str(error)) from None
        moves = list((_CSA_MOVE if is_csa else _KIF_MOVE).finditer(text))
        ply = int(index[1])
        move = moves[ply] if ply < len(moves) else None
        place = 0 if move is None else move.end()
        raise _Fault(place, f"move {ply + 1} is not legal", move) from None
    if is_csa:
        unread = _NOT_CSA.search(text)
        if unread is not None:
            raise _Fault(unread.start(), "this is not a line of CSA")
    else:
        terminal = record.main_terminal
        word = None if terminal is None else terminal.unknown_name
        if word and word != "封じ手":  # a sealed move: the game was interrupted
            raise _Fault(text.find(word), "this is not a move of KIF")
    return record


def _outcome(result: GameResult, text: str) -> tuple[float, bool]:
    """Return the result from Black's side, NaN for none, and whether it was a forfeit."""
    if result.is_win() or result.is_draw():
        value = 0.5 if result.is_draw() else float(result.is_black_win())
        return value, result.name.endswith(("TIMEOUT", "ILLEGAL_MOVE", "FORFEIT"))
    # adjudicated games have no word of their own in the formats: ringmaster adds a comment
    comments = _RESULT.findall(text)
    return RESULTS.get(comments[-1], math.nan) if comments else math.nan, False


def _score(entry: MoveEntry) -> float:
    """Return the score of a move, from Black's side, NaN for none."""
    if entry.engine_info is not None and entry.engine_info.eval is not None:
        value = float(entry.engine_info.eval)
    else:
        match = _SCORE.search(entry.comment or "")
        if match is None:
            return math.nan
        sign, _, number, mating_side = match.groups()
        value = float(number) if number else float(MATE_SCORE)
        value = -value if sign == "-" or mating_side == "後" else value
    return math.copysign(MATE, value) if abs(value) >= _MATES else limited(value)
