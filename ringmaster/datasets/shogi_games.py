"""Games of CSA and KIF files with the scores of their moves, collected files included.

Which scores are read: in CSA the comment '** of floodgate's programs, in KIF the word
評価値 in a comment; both are from Black's side, told of the move before them, and so
of the position in which it was found.  Moves are checked by the rules; variations of
KIF are passed over.

Sources: http://www2.computer-shogi.org/protocol/record_v22.html;
http://kakinoki.o.oo7.jp/kif_format.html, which is no full description.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from rsshogi.core import Board
from rsshogi.record import Record

from ringmaster.datasets.recorded_game import MATE, RESULTS, RecordedGame, limited
from ringmaster.errors import DatasetError
from ringmaster.games.sfen import START_SFEN, normalise_sfen
from ringmaster.games.shogi import USI_MOVES
from ringmaster.games.shogi_moves import MATE_SCORE
from ringmaster.games.text import shown

_QUOTED = 60
#: A score from which on it is a mate: less its plies, as other programs write it, too.
_MATES = MATE_SCORE - 2000


class _Game:
    """One game while it is read."""

    def __init__(self, name: str, number: int, line: int) -> None:
        self.name, self.line = name, line
        self.game = RecordedGame(number, line)
        self.heading: list[str] = []
        self.board: Board | None = None
        self.ended = False

    @property
    def side(self) -> int:
        """Who is to move."""
        return 0 if self._on_board().turn.is_black() else 1

    def begin(self, sfen: str, at: int) -> None:
        """Set up the start position.  Raises DatasetError."""
        try:
            start = normalise_sfen(sfen)
        except ValueError as error:
            raise self.error(at, str(error)) from None
        self.game.start = None if start == START_SFEN else start
        self.board = Board(start)

    def play(self, usi: str, at: int, text: str) -> None:
        """Play a move.  Raises DatasetError."""
        board = self._on_board()
        move = USI_MOVES.get(usi)
        if move is None or not board.is_legal_move(move):
            raise self.error(at, f"move {len(self.game.moves) + 1}, {text}, is not legal")
        board.apply_move(move)
        self.game.moves.append(usi)
        self.game.scores.append(math.nan)

    def take_score(self, value: float) -> None:
        """Take a score of the last move, from Black."""
        scores = self.game.scores
        if scores and math.isnan(scores[-1]):
            scores[-1] = math.copysign(MATE, value) if abs(value) >= _MATES else limited(value)

    def take_book(self) -> None:
        """The last move is the opening's."""
        if self.game.book == len(self.game.moves) - 1:
            self.game.book += 1

    def take_result(self, score: str) -> None:
        """Take a result as "1-0"."""
        self.game.result = RESULTS.get(score, math.nan)

    def end(self, loser: int | None) -> None:
        """Take a result by who has lost."""
        self.ended = True
        if loser is not None:
            self.game.result = float(loser)

    def end_as(self, ending: int | None, side: int) -> None:
        """Take a result as the tables of endings have it, `side` to move."""
        if ending is not None:
            self.end(side if ending == 0 else 1 - side)
            return
        self.ended = True
        self.game.result = 0.5

    def error(self, at: int, what: str) -> DatasetError:
        return DatasetError(self.name, at, f"game {self.game.number}: {what}")

    def _on_board(self) -> Board:
        assert self.board is not None
        return self.board


# CSA

_CSA_MOVE = re.compile(r"[+-][0-9]{2}[1-9]{2}[A-Z]{2}")
_CSA_SCORE = re.compile(r"'\*\* ?([+-]?[0-9]{1,6})(?:\s|$)")
_CSA_GAME = re.compile(r"'game (\S+)")
_CSA_RESULT = re.compile(r"'result (\S+?),?(?:\s|$)")
#: What stands in the place of a move: 0 who is to move has lost, 1 the other, None a
#: draw.  Others tell of no result.
_CSA_ENDINGS = {
    "%TORYO": 0,
    "%TSUMI": 0,
    "%TIME_UP": 0,
    "%ILLEGAL_MOVE": 0,
    "%ILLEGAL_ACTION": 1,
    "%KACHI": 1,
    "%SENNICHITE": None,
    "%JISHOGI": None,
    "%HIKIWAKE": None,
    "%MAX_MOVES": None,
}
_CSA_FAULTS = {"%TIME_UP", "%ILLEGAL_MOVE", "%ILLEGAL_ACTION"}


def csa_games(lines: Iterable[str], name: str) -> Iterator[RecordedGame]:
    """Yield the games of a CSA file, unfinished ones included.

    Raises DatasetError, with line and game, for what is no CSA, and for moves that are
    not legal.
    """
    number = 1
    found: _Game | None = None
    for at, raw in enumerate(lines, 1):
        line = raw.rstrip()
        if line == "/":
            if found is not None:
                yield _finished_csa(found, at)
                number += 1
            found = None
            continue
        if not line:
            continue
        if found is None:
            found = _Game(name, number, at)
        if line[0] == "'":
            _csa_comment(found, line)
            continue
        # several on one line is another way to write them
        for item in line.split(",") if line[0] in "+-%T" else [line]:
            if item:
                _csa_item(found, item, at)
    if found is not None:
        yield _finished_csa(found, found.line)


def _finished_csa(found: _Game, at: int) -> RecordedGame:
    if found.board is None:
        raise found.error(at, "it has no start position (P1 to P9 or PI, then + or -)")
    return found.game


def _csa_comment(found: _Game, line: str) -> None:
    if line.startswith("'** ") or line.startswith("'**"):
        score = _CSA_SCORE.match(line)
        if score is not None:
            found.take_score(float(score[1]))
    elif line == "'*book":
        found.take_book()
    elif not found.game.id and (game := _CSA_GAME.match(line)) is not None:
        found.game.id = game[1]
    elif found.ended and not found.game.is_finished and (result := _CSA_RESULT.match(line)):
        # what ended by adjudication has no word of its own in the format
        found.take_result(result[1])


def _csa_item(found: _Game, item: str, at: int) -> None:
    if found.board is None:
        if item[0] in "VN$":
            return
        if item[0] == "P":
            found.heading.append(item)
            return
        if item in ("+", "-"):
            found.begin(_csa_start(found, item, at), at)
            return
        raise found.error(at, f"this is no line of a CSA heading: {shown(item, _QUOTED)}")
    if item[0] == "T" or found.ended:
        return
    if _CSA_MOVE.fullmatch(item):
        try:
            usi = found.board.move_from_csa(item).to_usi()
        except ValueError:
            usi = ""
        found.play(usi, at, item)
    elif item[0] == "%":
        _csa_ending(found, item)
    else:
        raise found.error(at, f"this is no move of CSA: {shown(item, _QUOTED)}")


def _csa_start(found: _Game, side: str, at: int) -> str:
    text = "\n".join(["V2.2", *found.heading, side, ""])
    try:
        return Record.from_csa_str(text).init_position_sfen
    except ValueError as error:
        raise found.error(at, f"the start position cannot be read: {error}") from None


def _csa_ending(found: _Game, item: str) -> None:
    word, side = item, found.side
    if item[1:2] in ("+", "-"):
        word, side = f"%{item[2:]}", 0 if item[1] == "+" else 1
        found.end(side)
    elif word in _CSA_ENDINGS:
        found.end_as(_CSA_ENDINGS[word], side)
    else:
        found.end(None)
    found.game.is_forfeit = word in _CSA_FAULTS


# KIF

_FILES = "１２３４５６７８９"
_RANKS = "一二三四五六七八九"
_KIF_PIECES = {
    **{"歩": "P", "香": "L", "桂": "N", "銀": "S", "金": "G", "角": "B", "飛": "R"},
    **{"玉": "K", "王": "K", "と": "+P", "馬": "+B", "龍": "+R", "竜": "+R"},
    **{"成香": "+L", "成桂": "+N", "成銀": "+S", "杏": "+L", "圭": "+N", "全": "+S"},
}
_KIF_LINE = re.compile(r"\s*([0-9]+)\s+(\S.*)")
_KIF_MOVE = re.compile(
    rf"(?:(同)[\s　]*|([{_FILES}1-9])([{_RANKS}1-9]))"
    rf"({'|'.join(_KIF_PIECES)})(成|不成)?(?:(打)|\(([1-9])([1-9])\))?"
)
_KIF_SCORE = re.compile(r"評価値\s*[=:：]?\s*([+-]?)(?:(詰|Mate|mate)|([0-9]{1,6}))")
_KIF_GAME = re.compile(r"\*game (\S+)")
_KIF_RESULT = re.compile(r"\*result (\S+?),?(?:\s|$)")
#: As _CSA_ENDINGS.
_KIF_ENDINGS = {
    "投了": 0,
    "詰み": 0,
    "切れ負け": 0,
    "反則負け": 0,
    "反則勝ち": 1,
    "入玉勝ち": 1,
    "千日手": None,
    "持将棋": None,
}
_KIF_NO_RESULT = ("中断", "不詰", "不戦敗", "不戦勝", "封じ手")
_KIF_FAULTS = {"切れ負け", "反則負け", "反則勝ち"}


def kif_games(lines: Iterable[str], name: str) -> Iterator[RecordedGame]:
    """Yield the games of a KIF file, unfinished ones included.

    Raises DatasetError, with line and game, for what is no KIF, and for moves that are
    not legal.
    """
    number = 0
    found: _Game | None = None
    last = ""
    skipping = False
    for at, raw in enumerate(lines, 1):
        line = raw.rstrip()
        begins = line.startswith("#KIF") or (
            found is not None and found.board is not None and _is_heading(line)
        )
        if begins and found is not None and (found.board is not None or found.heading):
            yield _finished_kif(found)
            found = None
        if not line.strip():
            continue
        if found is None:
            number += 1
            found, last, skipping = _Game(name, number, at), "", False
        if line[0] in "#&":
            continue
        if line[0] == "*":
            if not skipping:
                _kif_comment(found, line)
            continue
        if line.startswith("変化"):
            # the main line stands before all variations
            skipping = True
        if skipping or line.startswith("まで"):
            continue
        match = _KIF_LINE.fullmatch(line)
        if match is None:
            if found.board is None:
                found.heading.append(line)
            elif not line.startswith("手数"):
                raise found.error(at, f"this is no line of KIF: {shown(line, _QUOTED)}")
            if line.startswith("手数"):
                found.begin(_kif_start(found, at), at)
            continue
        if found.board is None:
            found.begin(_kif_start(found, at), at)
        if not found.ended:
            last = _kif_item(found, match[2], last, at)
    if found is not None:
        yield _finished_kif(found)


def _is_heading(line: str) -> bool:
    """Whether a line is one of those that a game begins with."""
    return bool(line) and line[0] not in "*#&" and "：" in line and not line.startswith("変化")


def _finished_kif(found: _Game) -> RecordedGame:
    if found.board is None:
        raise found.error(found.line, "it has no moves")
    return found.game


def _kif_comment(found: _Game, line: str) -> None:
    if found.ended:
        result = _KIF_RESULT.match(line)
        if result is not None and not found.game.is_finished:
            found.take_result(result[1])
    elif not found.game.moves:
        if (game := _KIF_GAME.match(line)) is not None:
            found.game.id = game[1]
    elif line == "*book":
        found.take_book()
    elif (score := _KIF_SCORE.search(line)) is not None:
        value = MATE if score[2] else float(score[3])
        found.take_score(-value if score[1] == "-" else value)


def _kif_start(found: _Game, at: int) -> str:
    heading = [line for line in found.heading if not line.startswith("手数")]
    if not any(line.startswith(("手合割", "|")) for line in heading):
        return START_SFEN
    text = "\n".join([*heading, "手数----指手---------消費時間--", ""])
    try:
        return Record.from_kif_str(text).init_position_sfen
    except ValueError as error:
        raise found.error(at, f"the start position cannot be read: {error}") from None


def _kif_item(found: _Game, text: str, last: str, at: int) -> str:
    """Take a move, or what stands in its place; returns the square it goes to."""
    match = _KIF_MOVE.match(text)
    if match is None:
        word = text.split()[0].split("(")[0]
        if word in _KIF_ENDINGS:
            found.end_as(_KIF_ENDINGS[word], found.side)
            found.game.is_forfeit = word in _KIF_FAULTS
        elif word in _KIF_NO_RESULT:
            found.end(None)
        else:
            raise found.error(at, f"this is no move of KIF: {shown(text, _QUOTED)}")
        return last
    same, file, rank, piece, promotes, _, *start = match.groups()
    if same:
        target = last
    else:
        target = str(_digit(file, _FILES)) + "abcdefghi"[_digit(rank, _RANKS) - 1]
    letter = _KIF_PIECES[piece]
    if start[0] is None:
        usi = f"{letter}*{target}"
    else:
        origin = start[0] + "abcdefghi"[int(start[1]) - 1]
        usi = f"{origin}{target}{'+' if promotes == '成' else ''}"
    found.play(usi, at, shown(match[0], _QUOTED))
    return target


def _digit(text: str, digits: str) -> int:
    return int(text) if text.isascii() else digits.index(text) + 1
