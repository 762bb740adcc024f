"""Read and write game records in SGF (FF[4]), for Go.

sgfmill reads.  It does not write, since it takes six times as long (0.5 ms a game).  Engine
text is cleaned and quoted, so that every record parses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from ringmaster import __version__
from ringmaster.formats.annotations import (
    note_lines,
    player_lines,
    player_name,
    reason_line,
    search_summary,
)
from ringmaster.formats.recorded_game import RecordedGame
from ringmaster.formats.source import Source
from ringmaster.games.clean_text import lines, one_line
from ringmaster.games.go import Point, format_vertex, parse_vertex
from ringmaster.model.results import GameRecord, MoveRecord
from ringmaster.model.time_control import TimeControl, number

_LETTERS: Final = "abcdefghijklmnopqrstuvwxy"
_COLOURS: Final = ("B", "W")
_SIDES: Final = ("Black", "White")
_WIDTH: Final = 79

#: Bytes of a line: whole collections may stand on one.
LONGEST_TREE: Final = 1 << 26
#: A property value, or a parenthesis outside values.
_VALUES: Final = re.compile(rb"\[(?:\\.|[^\]\\])*\]?|([()])", re.DOTALL)


def sgf_ends(data: bytes) -> list[int]:
    """Return where the game trees of a collection end, the rest of the file included."""
    ends: list[int] = []
    depth = 0
    for match in _VALUES.finditer(data):
        if match[1] is not None:
            depth += 1 if match[1] == b"(" else -1
            if depth == 0:
                ends.append(match.end())
    return [*ends, len(data)]


def sgf_games(source: Source) -> Iterator[RecordedGame]:
    """Yield the main lines of an SGF collection, with moves in GTP's notation.

    Setup stones, handicaps and another board size than the source's are faults: moves from
    the empty board are read only.  Komi and results do not matter here.

    Raises DataFileError for a file that is not text.
    """
    data = b"\n".join(chunk for _, chunk in source.chunks(LONGEST_TREE))
    start, number = 0, source.previous
    for end in sgf_ends(data):
        tree = data[start:end].lstrip()
        line = source.first + data.count(b"\n", 0, end - len(tree))
        start = end
        if not tree:
            continue
        number += 1
        try:
            yield RecordedGame(number, line, moves=_main_line(tree, source.board_size))
        except ValueError as error:
            source.bad(line, f"game {number}: {error}", "bad games")


def _main_line(tree: bytes, board_size: int) -> list[str]:
    """Return the moves of a game tree's first line.  Raises ValueError."""
    from sgfmill import sgf

    game = sgf.Sgf_game.from_bytes(tree)
    size, root = game.get_size(), game.get_root()
    if root.has_property("GM") and root.get("GM") != 1:
        raise ValueError(f"it is not a game of Go: GM[{root.get('GM')}]")
    if board_size and size != board_size:
        raise ValueError(f"its board is {size}x{size}, but board_size is {board_size}")
    # many programs write HA[0], and HA[1] where Black has no more than the first move
    has_handicap = root.has_property("HA") and root.get("HA") > 1
    moves: list[str] = []
    for node in game.get_main_sequence():
        if node.has_setup_stones() or has_handicap:
            raise ValueError(
                "it has setup stones (AB, AW, AE) or a handicap: an opening is moves from the "
                "empty board"
            )
        side = len(moves) % 2
        try:
            colour, place = node.get_move()
        except ValueError:
            raise ValueError(f"move {len(moves) + 1} is not a point of {size}x{size}") from None
        if colour is not None:
            if colour != "bw"[side] or node.has_property(_COLOURS[1 - side]):
                raise ValueError(f"move {len(moves) + 1} is not one of {_SIDES[side]} alone")
            moves.append(format_vertex(None if place is None else (place[1], place[0])))
    return moves


def write_sgf(record: GameRecord) -> str:
    """Return `record` as SGF, ending in a newline.

    The root comment describes the players and the result, and has the notes.  A move's
    comment has the engine's words and the time.  TM and OT describe a clock common to both
    players; BL, WL, OB and OW give the clock after each move.  An invalid vertex ends the
    record, with a comment.

    Raises ValueError for a record of another game than Go.
    """
    if record.settings.game != "go":
        raise ValueError(f"SGF records are for Go, not for {record.settings.game}")
    return f"({_root(record)}\n{_moves(record)})\n"


def _root(record: GameRecord) -> str:
    size = record.settings.board_size
    head = [
        ";FF[4]GM[1]CA[UTF-8]",
        f"AP[ringmaster:{__version__}]SZ[{size}]KM[{record.settings.komi:.10g}]",
    ]
    if len(record.setup) >= 2:
        head.append(f"HA[{len(record.setup)}]")
    if record.setup:
        head.append("AB" + "".join(f"[{_point(vertex, size)}]" for vertex in record.setup))
    simple = (
        *_clock(record.clocks),
        ("PB", player_name(record, 0)),
        ("PW", player_name(record, 1)),
        ("EV", one_line(record.event)),
        ("GN", one_line(f"{record.competition} {record.game_id}".strip())),
        ("DT", one_line(record.date)),
        ("RE", one_line(record.score) or "?"),
    )
    head += [f"{name}[{_quoted(text)}]" for name, text in simple if text]
    return "\n".join([*head, f"C[{_quoted(_root_comment(record))}]"])


def _clock(clocks: tuple[TimeControl | None, TimeControl | None]) -> list[tuple[str, str]]:
    """Return TM (seconds) and OT (in words); SGF has them only for a common clock."""
    control = clocks[0]
    if control is None or clocks[1] != control or control.moves:
        return []
    period = number(control.period)
    if control.overtime == "japanese":
        overtime = f"{control.periods}x{period} byo-yomi"
    elif control.overtime == "canadian":
        overtime = f"{control.stones}/{period} Canadian"
    else:
        overtime = f"{number(control.increment)} fischer" if control.increment else ""
    return [("TM", number(control.base)), ("OT", overtime)]


def _root_comment(record: GameRecord) -> str:
    comment = player_lines(record, _SIDES)
    reason = reason_line(record)
    comment.append(f"Result: {one_line(record.score)}" + (f" ({reason})" if reason else ""))
    return "\n".join(comment + note_lines(record))


def _moves(record: GameRecord) -> str:
    size, book = record.settings.board_size, record.opening.moves
    text: list[str] = []
    column = 0
    for count, move in enumerate(record.moves, 1):
        try:
            node = f";{_COLOURS[move.player]}[{_point(move.move, size)}]{_time_left(move)}"
            summary = search_summary(move, record.settings.record_times)
            comment = "\n".join(filter(None, (lines(move.comment), summary)))
            if count <= len(book) and move.move == book[count - 1]:
                comment = "book"
        except ValueError as error:
            comment = f"Move {count} cannot be shown: {error}"
            text.append(f"\n;C[{_quoted(comment)}]")
            break
        if column and column + len(node) > _WIDTH:
            text.append("\n")
            column = 0
        text.append(node)
        column += len(node)
        if comment:
            text.append(f"C[{_quoted(comment)}]\n")
            column = 0
    return "".join(text)


def _time_left(move: MoveRecord) -> str:
    if move.left is None:
        return ""
    side = _COLOURS[move.player]
    overtime = "" if move.overtime is None else f"O{side}[{move.overtime}]"
    return f"{side}L[{move.left:.3f}]{overtime}"


def _point(vertex: str, size: int) -> str:
    """Return a vertex in SGF's coordinates, from the top left; "" for a pass.

    Raises ValueError for an invalid vertex.
    """
    usual = _usual_points(size).get(vertex)
    if usual is not None:
        return usual
    point = parse_vertex(vertex, size)
    return "" if point is None else _letters(point, size)


@cache
def _usual_points(size: int) -> dict[str, str]:
    """Return SGF's coordinates by vertex in upper case."""
    board = ((column, row) for column in range(size) for row in range(size))
    points = {format_vertex(point): _letters(point, size) for point in board}
    return {**points, format_vertex(None): ""}


def _letters(point: Point, size: int) -> str:
    column, row = point
    return _LETTERS[column] + _LETTERS[size - 1 - row]


def _quoted(text: str) -> str:
    """Return text escaped for a property value."""
    return text.replace("\\", "\\\\").replace("]", "\\]")
