"""Write game records in KIF, the format of Kakinoki's programs, for shogi.

The text is UTF-8, for files with the suffix .kifu.  Engine text is cleaned first, so that
every record parses.

Source: http://kakinoki.o.oo7.jp/kif_format.html, which is incomplete.  Board diagrams follow
Kifu for Windows.  Comments for programs (**対局 …) follow Shogidokoro, with scores from Black's
side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rsshogi.core import Board
from rsshogi.initial_positions import SFEN_TO_HANDICAP

from ringmaster.formats.annotations import (
    closing_lines,
    player_lines,
    player_name,
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

_FILES = "１２３４５６７８９"
_RANKS = "一二三四五六七八九"
_PIECES = {
    "P": "歩",
    "L": "香",
    "N": "桂",
    "S": "銀",
    "G": "金",
    "B": "角",
    "R": "飛",
    "K": "玉",
    "+P": "と",
    "+L": "成香",
    "+N": "成桂",
    "+S": "成銀",
    "+B": "馬",
    "+R": "龍",
}
#: Pieces in a diagram, one character each.
_SHORT = {**_PIECES, "+L": "杏", "+N": "圭", "+S": "全"}

#: The word that replaces the move after the last one.
_ENDINGS = {
    "lost": "投了",
    "time": "切れ負け",
    "illegal": "反則負け",
    "won": "入玉勝ち",
    "repetition": "千日手",
    "impasse": "持将棋",
    "draw": "持将棋",
    "stopped": "中断",
}

_SIDES = ("Black", "White")


def write_kif(record: GameRecord) -> str:
    """Return `record` as one game in KIF, ending in a newline.

    Player 0 is Black (先手, or 下手 in a handicap game).  Times are whole seconds, rounded
    down; comments have the exact time.  An illegal move ends the record, with a comment.

    Raises ValueError for a record of another game than shogi.
    """
    if record.settings.game != "shogi":
        raise ValueError(f"KIF records are for shogi, not for {record.settings.game}")
    return "".join(f"{line}\n" for line in _lines(record))


def _lines(record: GameRecord) -> Iterator[str]:
    yield "#KIF version=2.0 encoding=UTF-8"
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", record.date):
        yield f"開始日時：{record.date.replace('-', '/')}"
    event = one_line(record.event)
    if event:
        yield f"棋戦：{event}"
    name = one_line(record.opening.name)
    if name:
        yield f"戦型：{name}"
    problem = ""
    try:
        start = start_of(record)
    except ValueError as error:
        start, problem = START_SFEN, f"The opening cannot be shown: {error}"
    handicap = SFEN_TO_HANDICAP.get(f"{start.rpartition(' ')[0]} 1")
    if handicap is None:
        yield "手合割：その他"
        yield from _diagram(start)
    else:
        yield f"手合割：{handicap}"
    sides = ("先手", "後手") if handicap in (None, "平手") else ("下手", "上手")
    for i, title in enumerate(sides):
        yield f"{title}：{player_name(record, i)}"
    yield from _comment(f"game {one_line(record.game_id)}")
    for text in player_lines(record, _SIDES):
        yield from _comment(text)
    yield "手数----指手---------消費時間--"
    if problem:
        yield "   1 中断"
        yield from _comment(problem)
        return
    yield from _moves(record, Board(start), sides)


def _diagram(sfen: str) -> Iterator[str]:
    """Yield the start position as a diagram."""
    board, side, hands, _ = sfen.split()
    yield f"後手の持駒：{_held(hands, HAND_LETTERS[1])}"
    yield "  " + " ".join(reversed(_FILES))
    yield "+---------------------------+"
    for number, rank in zip(_RANKS, ranks_of(board), strict=True):
        row = ""
        for piece in rank:
            side_mark = "v" if piece.islower() else " "
            row += side_mark + (_SHORT[piece.upper()] if piece else "・")
        yield f"|{row}|{number}"
    yield "+---------------------------+"
    yield f"先手の持駒：{_held(hands, HAND_LETTERS[0])}"
    if side == "w":
        yield "後手番"


def _held(hands: str, letters: str) -> str:
    """Return the pieces in hand of one side."""
    held = held_of(hands)
    pieces = [
        _PIECES[letter.upper()] + (_number(held[letter]) if held[letter] > 1 else "")
        for letter in letters
        if held[letter]
    ]
    return "　".join(pieces) or "なし"


def _number(value: int) -> str:
    """Return 2 to 18 in Chinese numerals."""
    tens, ones = divmod(value, 10)
    return "十" * tens + (_RANKS[ones - 1] if ones else "")


def _moves(record: GameRecord, board: Board, sides: tuple[str, str]) -> Iterator[str]:
    book = record.opening.moves
    spent = [0, 0]
    last = closing = ""
    for ply, move in enumerate(record.moves):
        try:
            step = play_step(board, move.move)
        except ValueError as error:
            yield f"{ply + 1:>4} 中断"
            yield from _comment(f"The move cannot be shown: {error}")
            break
        seconds = int(move.seconds or 0)
        spent[step.side] += seconds
        yield f"{ply + 1:>4} {_kif_move(step, last)}   {_times(seconds, spent[step.side])}"
        last = step.target
        if ply < len(book) and move.move == book[ply]:
            yield from _comment("book")
        else:
            yield from _move_comment(record, board, step, move)
    else:
        to_move = 0 if board.turn.is_black() else 1
        word, closing = _ending(record, to_move, sides)
        yield f"{len(record.moves) + 1:>4} {word}   {_times(0, spent[to_move])}"
    for text in closing_lines(record):
        yield from _comment(text)
    if closing:
        yield f"まで{len(record.moves)}手で{closing}"


def _ending(record: GameRecord, to_move: int, sides: tuple[str, str]) -> tuple[str, str]:
    """Return the word that replaces the next move, and the result in words."""
    kind = ending_kind(record, to_move)
    if kind in ("black fault", "white fault"):
        faulty = 0 if kind == "black fault" else 1
        word = "反則負け" if faulty == to_move else "反則勝ち"
        return word, f"{sides[to_move]}の{word}"
    word = "詰み" if kind == "lost" and record.reason == "mate" else _ENDINGS[kind]
    if kind in ("illegal", "won"):
        return word, f"{sides[to_move]}の{word}"
    if record.score in ("1-0", "0-1"):
        return word, f"{sides[0 if record.score == '1-0' else 1]}の勝ち"
    return word, word


def _move_comment(record: GameRecord, board: Board, step: Step, move: MoveRecord) -> Iterator[str]:
    wanted = record.settings.record_info
    words = []
    if move.seconds is not None and record.settings.record_times:
        minutes, seconds = divmod(move.seconds, 60)
        words.append(f"時間 {int(minutes):02}:{seconds:06.3f}")
    if move.depth is not None:
        deeper = "seldepth" in wanted and move.seldepth is not None
        words.append(f"深さ {move.depth}" + (f"/{move.seldepth}" if deeper else ""))
    if "nodes" in wanted and move.nodes is not None:
        words.append(f"ノード数 {move.nodes}")
    score = black_score(move, step.side)
    if move.mate is not None and score is not None:
        words.append(f"評価値 {'+' if score > 0 else '-'}詰 {abs(move.mate)}")
    elif score is not None:
        words.append(f"評価値 {score}")
    if "pv" in wanted:
        line = _line(board, expected_line(move), step.target)
        words += ["読み筋", line] if line else []
    if words:
        yield "**対局 " + " ".join(words)
    more = details(move, tuple(field for field in wanted if field not in ("nodes", "seldepth")))
    if more:
        yield from _comment(more)
    yield from _comment(move.comment)


def _line(board: Board, moves: tuple[str, ...], last: str) -> str:
    words = []
    for step in legal_line(board, moves):
        words.append("▲△"[step.side] + _kif_move(step, last))
        last = step.target
    return " ".join(words)


def _kif_move(step: Step, last: str) -> str:
    """Return "７六歩(77)", "同　角成(88)" or "５五歩打"."""
    target = step.target
    square = "同　" if target == last else _FILES[int(target[0]) - 1] + _RANKS[int(target[1]) - 1]
    if not step.start:
        return f"{square}{_PIECES[step.piece]}打"
    return f"{square}{_PIECES[step.piece]}{'成' if step.promotes else ''}({step.start})"


def _times(seconds: int, total: int) -> str:
    """Return "( 0:12/00:01:30)": the time of the move and of the game so far."""
    minutes, rest = divmod(total, 60)
    hours, minutes = divmod(minutes, 60)
    return f"({seconds // 60:>2}:{seconds % 60:02}/{hours:02}:{minutes:02}:{rest:02})"


def _comment(text: str) -> Iterator[str]:
    """Yield the lines of a comment."""
    for line in text.splitlines():
        # a second star marks comments for programs
        cleaned = one_line(line, 2000).lstrip("*").strip()
        if cleaned:
            yield f"*{cleaned}"
