"""Read recorded games for the boards of a page.

The records are ringmaster's own (`games.pgn`, `games.sgf`, `games.csa`, `games.kif`).  Regular
expressions read them, since a page shows a thousand: moves are not checked here.  A board stops
at a move that its rules do not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

from ringmaster.games.clean_text import lines, one_line
from ringmaster.games.go import check_size, format_vertex
from ringmaster.games.sfen import START_SFEN
from ringmaster.model.board import MATE, BoardGame
from ringmaster.model.players import GameName
from ringmaster.results.games import COLOURS, Game

#: Bytes of the longest record that is read, and characters of the longest comment that is kept.
_LONGEST, _COMMENT = 1_000_000, 300

#: "+0.31/12 0.520s" or "-M5/20" of `annotations.search_summary`: sign, mate, pawns, hundredths,
#: depth, seconds, thousandths.
_SUMMARY: Final = (
    r"(?:([+-])?(?:M(\d{1,4})|(\d{1,6})\.(\d\d)(?!\d))(?:/(\d{1,4}))?\ ?)?"
    r"(?:(\d{1,7})\.(\d{3})s)?"
)
#: A move with its comment in movetext, or a comment without a move.
_PLY: Final = re.compile(r"\{[^}]*\}|([A-Za-z@+][^\s{}()]*)(?:\s*\{" + _SUMMARY + r"([^}]*)\})?")
_TAG: Final = re.compile(r'^\[(\w+) "((?:[^"\\]|\\.)*)"\]', re.MULTILINE)
_CLOCK: Final = re.compile(r"\[%clk (\d{1,6}):(\d\d):(\d\d)(?:\.(\d{3}))?\]")
#: A detail of the search, which a board does not show.
_DETAIL: Final = r'(?:(?:sd|n|nps|hashfull|tbhits)=\d+|pv="[^"]*"|\[%clk [^\]]*\])'
_DETAILS: Final = re.compile(_DETAIL)
_ONLY_DETAILS: Final = re.compile(rf"(?:[,\s]*{_DETAIL})*[,\s]*")
_COMMA: Final = re.compile(r"^[\s,]+|[\s,]+$|(?<=,)[\s,]+(?=,)")

_NODE: Final = re.compile(
    r";([BW])\[([a-y]{0,2})\](?:[BW]L\[(-?\d+\.\d+)\])?(?:O[BW]\[\d+\])?"
    r"(?:C\[((?:[^\]\\]|\\.)*)\])?",
    re.DOTALL,
)
_ROOT_NUMBER: Final = re.compile(r"(SZ|KM)\[(-?\d+(?:\.\d+)?)\]")
_STONES: Final = re.compile(r"AB((?:\[[a-y]{2}\])+)")
_DATE: Final = re.compile(r"DT\[(\d{4}-\d\d-\d\d)\]")
_TIME_CONTROL: Final = re.compile(r"^'?\*?(Black|White) time control: (.*?)\]?$", re.MULTILINE)
_SUMMARY_LINE: Final = re.compile(_SUMMARY + r"(?:,\s*(.*))?")
_LEFT: Final = re.compile(r"left=(\d+)\.(\d{3})s")

_SHOGI_DATE: Final = re.compile(r"^(?:\$START_TIME:|開始日時：)(\d{4})/(\d\d)/(\d\d)", re.MULTILINE)
_SHOGI_OPENING: Final = re.compile(r"^(?:\$OPENING:|戦型：)(.*)", re.MULTILINE)


def board_game(game: Game, record: bytes) -> BoardGame:
    """Return a game for a board.

    A damaged record gives a game with fewer moves, or without moves.
    """
    facts = _read(game.game, record[:_LONGEST].decode(errors="replace"))
    colour = game.winning_colour
    first, second = game.sides
    return BoardGame(
        number=game.number,
        id=game.id,
        game=game.game,
        players=game.players,
        names=(one_line(first.name), one_line(second.name)),
        result=one_line(game.score),
        reason=one_line(game.reason),
        detail=one_line(game.detail, _COMMENT),
        winner=None if colour is None else COLOURS[game.game].index(colour),
        matchup=game.matchup,
        **facts,
    )


def board_in_progress(
    game: GameName, game_id: str, codes: tuple[str, str], record: str
) -> BoardGame:
    """Return a game in progress for a board, from its record so far."""
    facts = _read(game, record[:_LONGEST])
    return BoardGame(number=0, id=game_id, game=game, players=codes, in_progress=True, **facts)


def _read(game: GameName, text: str) -> dict[str, Any]:
    """Return fields of a `BoardGame` from a record, none from a damaged one."""
    # a record that somebody has edited may have anything
    with suppress(LookupError, ValueError):
        return _READERS[game](text.removeprefix("\ufeff").replace("\r\n", "\n"))
    return {}


#: Milliseconds, clock, score, depth and the rest of a move's comment.
_Comment = tuple[int | None, int | None, int | None, int | None, str]
_Ply = tuple[str, int | None, int | None, int | None, int | None, str]


def _facts(plies: Iterable[_Ply], **others: Any) -> dict[str, Any]:
    """Return fields of a `BoardGame` from the moves and comments of all plies.

    The comment of a move of the opening is "book".
    """
    columns = tuple(zip(*plies, strict=True))
    if not columns:
        return others
    moves, ms, clocks, scores, depths, texts = columns
    book = 0
    while book < len(texts) and texts[book] == "book":
        book += 1
    return {
        **others,
        "moves": " ".join(moves),
        "book": book,
        "ms": _known(ms),
        "clocks": _known(clocks),
        "scores": _known(scores),
        "depths": _known(depths),
        "comments": tuple((i, text) for i, text in enumerate(texts) if text and i >= book),
    }


def _known(column: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Return a column, () if it has no value."""
    return () if column.count(None) == len(column) else column


def _search(summary: Sequence[str], other_side: bool) -> tuple[int | None, int | None, int | None]:
    """Return milliseconds, score and depth of a summary; `other_side` negates the score."""
    sign, mate, pawns, cents, depth, seconds, thousandths = summary[:7]
    score = None
    if mate or pawns:
        score = MATE - int(mate) if mate else int(pawns + cents)
        score = -score if (sign == "-") != other_side else score
    return int(seconds + thousandths) if seconds else None, score, int(depth) if depth else None


def _read_pgn(text: str) -> dict[str, Any]:
    header, _, body = text.partition("\n\n")
    # the last comment gives the reason of the result
    body = body.rpartition("{")[0] or body
    tags = dict(_TAG.findall(header))
    fen = tags.get("FEN", "")
    first = 1 if fen.split()[1:2] == ["b"] else 0
    clocked = "[%clk" in body
    plies: list[_Ply] = []
    for move, *summary, more in _PLY.findall(body):
        if not move:
            continue
        clock = None
        if more:
            if clocked and (match := _CLOCK.search(more)):
                clock = _clock(match)
            more = _rest(more)
        ms, score, depth = _search(summary, (len(plies) + first) % 2 == 1)
        plies.append((move, ms, clock, score, depth, more))
    return _facts(
        plies,
        variant=one_line(tags.get("Variant", "standard"), 40).lower().replace(" ", ""),
        start=one_line(fen, 200),
        first=first,
        opening=one_line(f"{tags.get('ECO', '')} {tags.get('Opening', '')}"),
        date=tags.get("Date", "").replace(".", "-").strip("?-"),
        time_control=_pgn_time_control(tags),
    )


def _clock(match: re.Match[str]) -> int:
    hours, minutes, seconds, thousandths = match.groups("000")
    return ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(thousandths)


def _rest(text: str) -> str:
    """Return a comment without details of the search."""
    if _ONLY_DETAILS.fullmatch(text):
        return ""
    return one_line(_COMMA.sub("", _DETAILS.sub("", text)).replace(",,", ","), _COMMENT)


def _pgn_time_control(tags: dict[str, str]) -> tuple[str, ...]:
    common = tags.get("TimeControl", "")
    return _both(
        tags.get(f"{side}Limits") or tags.get(f"{side}TimeControl", common).strip("-")
        for side in ("White", "Black")
    )


def _both(controls: Iterable[str]) -> tuple[str, ...]:
    """Return the time controls of two players, equal ones once, () for none."""
    texts = tuple(map(one_line, controls))
    if not any(texts):
        return ()
    return texts[:1] if len(set(texts)) == 1 else texts


def _time_controls(text: str) -> tuple[str, ...]:
    """Return the time controls from the comments of an SGF, CSA or KIF record."""
    controls = dict(_TIME_CONTROL.findall(text))
    return _both(controls.get(side, "") for side in ("Black", "White"))


def _read_sgf(text: str) -> dict[str, Any]:
    start = text.find("\n;")
    root = text if start < 0 else text[:start]
    numbers = dict(_ROOT_NUMBER.findall(root))
    size = int(numbers.get("SZ", "19"))
    check_size(size)
    stones = _STONES.search(root)
    setup = [] if stones is None else stones[1].strip("[]").split("][")
    plies: list[_Ply] = []
    first = 0
    for colour, point, left, comment in _NODE.findall(text, max(start, 0)):
        if not plies:
            first = "BW".index(colour)
        *words, last = lines(_unescaped(comment)).split("\n")
        summary = _SUMMARY_LINE.fullmatch(last)
        ms = score = depth = None
        if summary is None:
            words.append(last)
        else:
            ms, score, depth = _search(summary.groups(""), colour == "W")
        clock = round(float(left) * 1000) if left else None
        vertex = _vertex(point, size)
        plies.append((vertex, ms, clock, score, depth, one_line(" ".join(words), _COMMENT)))
    date = _DATE.search(root)
    return _facts(
        plies,
        size=size,
        komi=float(numbers.get("KM", "0")),
        setup=" ".join(_vertex(point, size) for point in setup),
        first=first,
        date="" if date is None else date[1],
        time_control=_time_controls(root),
    )


def _vertex(point: str, size: int) -> str:
    """Return SGF's coordinates, from the top left, as a vertex.  Raises ValueError."""
    if not point:
        return "pass"
    column, row = (ord(letter) - ord("a") for letter in point)
    if column >= size or row >= size:
        raise ValueError("the point is not on the board")
    return format_vertex((column, size - 1 - row))


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL) if "\\" in text else text


def _read_shogi(text: str) -> dict[str, Any]:
    # takes 20 ms to import
    from rsshogi.record import Record

    is_kif = text.startswith("#KIF")
    record = Record.from_kif_str(text) if is_kif else Record.from_csa_str(text)
    sfen = record.init_position_sfen
    first = 1 if sfen.split()[1:2] == ["w"] else 0
    plies = [
        (entry.move.to_usi(), *_shogi_comment(entry.comment or "", (ply + first) % 2 == 1))
        for ply, entry in enumerate(record.moves)
    ]
    date, opening = _SHOGI_DATE.search(text), _SHOGI_OPENING.search(text)
    return _facts(
        plies,
        start="" if sfen == START_SFEN else sfen,
        first=first,
        date="" if date is None else "-".join(date.groups()),
        opening="" if opening is None else one_line(opening[1]),
        time_control=_time_controls(text),
    )


def _shogi_comment(text: str, of_white: bool) -> _Comment:
    texts = [line for line in text.split("\n") if not line.startswith("読み筋=")]
    summary = _SUMMARY_LINE.fullmatch(texts[0]) if texts else None
    if summary is None:
        return None, None, None, None, one_line(" ".join(texts), _COMMENT)
    ms, score, depth = _search(summary.groups(""), of_white)
    left = _LEFT.search(summary[8] or "")
    clock = None if left is None else int(left[1] + left[2])
    return ms, clock, score, depth, one_line(" ".join(texts[1:]), _COMMENT)


_READERS: Final[dict[GameName, Callable[[str], dict[str, Any]]]] = {
    "chess": _read_pgn,
    "go": _read_sgf,
    "shogi": _read_shogi,
}
