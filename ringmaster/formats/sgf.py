"""Read and write game records in SGF (FF[4]), for Go.

sgfmill reads.  It does not write, since it sorts properties: a record is found in a collected file
by its head.  Engine text is cleaned and quoted, so that every record parses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ringmaster import __version__
from ringmaster.formats.annotations import (
    analysis_summary,
    note_lines,
    player_lines,
    player_name,
    read_time_controls,
    reason_line,
)
from ringmaster.formats.recorded_game import RecordedGame
from ringmaster.formats.source import Source
from ringmaster.games.clean_text import lines, one_line
from ringmaster.games.go import format_vertex, parse_vertex
from ringmaster.model.results import GameRecord, MoveRecord
from ringmaster.model.time_control import TimeControl, number

_LETTERS: Final = "abcdefghijklmnopqrstuvwxy"
_COLOURS: Final = ("B", "W")
_SIDES: Final = ("Black", "White")

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

    Another board size than the source's is a fault.  Without annotations, setup stones and
    handicaps are faults, too: openings are moves from the empty board.  Results do not matter.

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
        game = RecordedGame(number, line)
        try:
            _read_main_line(game, tree, source)
        except ValueError as error:
            source.bad(line, f"game {number}: {error}", "bad games")
        else:
            yield game


def _read_main_line(game: RecordedGame, tree: bytes, source: Source) -> None:
    """Fill a game from the first line of a game tree.  Raises ValueError."""
    from sgfmill import sgf

    read = sgf.Sgf_game.from_bytes(tree)
    size, root = read.get_size(), read.get_root()
    if root.has_property("GM") and root.get("GM") != 1:
        raise ValueError(f"it is not a game of Go: GM[{root.get('GM')}]")
    if source.board_size and size != source.board_size:
        raise ValueError(f"its board is {size}x{size}, but board_size is {source.board_size}")
    if source.annotated:
        game.size, game.komi = size, read.get_komi()
        stones = sorted(root.get_setup_stones()[0])
        game.setup = [format_vertex((column, row)) for row, column in stones]
        game.date = root.get("DT") if root.has_property("DT") else ""
        comment = root.get("C") if root.has_property("C") else ""
        game.time_controls = read_time_controls(comment, _SIDES)
    # many programs write HA[0], and HA[1] where Black has no more than the first move
    has_handicap = root.has_property("HA") and root.get("HA") > 1
    for node in read.get_main_sequence():
        number = len(game.moves) + 1
        if (node.has_setup_stones() or has_handicap) and not source.annotated:
            raise ValueError(
                "it has setup stones (AB, AW, AE) or a handicap: an opening is moves from the "
                "empty board"
            )
        try:
            colour, place = node.get_move()
        except ValueError:
            raise ValueError(f"move {number} is not a point of {size}x{size}") from None
        if colour is None:
            continue
        if source.annotated and not game.moves:
            game.first = "bw".index(colour)
        side = (game.first + number - 1) % 2
        if colour != "bw"[side] or node.has_property(_COLOURS[1 - side]):
            raise ValueError(f"move {number} is not one of {_SIDES[side]} alone")
        game.moves.append(format_vertex(None if place is None else (place[1], place[0])))
        if source.annotated:
            comment, left = node.get("C") if node.has_property("C") else "", f"{_COLOURS[side]}L"
            game.book += comment == "book" and game.book == len(game.comments)
            if node.has_property(left):
                game.clocks[len(game.comments)] = node.get(left)
            game.comments.append(comment)
    if not game.moves and not source.annotated:
        raise ValueError("it has no moves")


def write_sgf(record: GameRecord) -> str:
    """Return `record` as SGF, ending in a newline.

    The root comment describes the players and the result, and has the notes.  A move's
    comment has the engine's words, the time and the analysis.  TM and OT describe a clock
    common to both players; BL, WL, OB and OW give the clock after each move.  An invalid vertex
    ends the record, with a comment.
    """
    return "\n".join([f"({_root(record)}", *_moves(record)]) + ")\n"


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
        ("RU", str(record.settings.rules) if record.settings.rules.name else ""),
    )
    head += [f"{name}[{_quoted(text)}]" for name, text in simple if text]
    reason = reason_line(record)
    result = f"Result: {one_line(record.score)}" + (f" ({reason})" if reason else "")
    comment = "\n".join([*player_lines(record, _SIDES), result, *note_lines(record)])
    return "\n".join([*head, f"C[{_quoted(comment)}]"])


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


def _moves(record: GameRecord) -> Iterator[str]:
    """Yield the nodes of the moves."""
    size, book = record.settings.board_size, record.opening.moves
    for count, move in enumerate(record.moves, 1):
        try:
            node = f";{_COLOURS[move.player]}[{_point(move.move, size)}]{_time_left(move)}"
        except ValueError as error:
            yield f";C[{_quoted(f'Move {count} cannot be shown: {error}')}]"
            return
        summary = analysis_summary(move, record.settings.record_times)
        comment = "\n".join(filter(None, (lines(move.comment), summary)))
        if count <= len(book) and move.move == book[count - 1]:
            comment = "book"
        yield f"{node}C[{_quoted(comment)}]" if comment else node


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
    point = parse_vertex(vertex, size)
    return "" if point is None else _LETTERS[point[0]] + _LETTERS[size - 1 - point[1]]


def _quoted(text: str) -> str:
    """Return text escaped for a property value."""
    return text.replace("\\", "\\\\").replace("]", "\\]")
