"""Read the games of CSA and KIF files, with the scores of their moves.

rsshogi reads both formats.  Scores come from the comments '** of floodgate's programs in CSA,
and from comments with the word 評価値 in KIF.  Both are from Black's side, for the move before
the comment.  Variations of KIF are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from rsshogi.record import GameResult, MoveEntry, Record

from ringmaster.formats.recorded_game import (
    RESULTS,
    RecordedGame,
    limited,
    positions_of,
)
from ringmaster.formats.source import MATE, Batch, Source, batches_of
from ringmaster.games.clean_text import shown
from ringmaster.games.sfen import START_SFEN, normalise_sfen
from ringmaster.games.shogi import MATE_SCORE

#: Scores from here on are mates: other programs, too, subtract the distance in plies.
_MATES = MATE_SCORE - 2000

_SCORE = re.compile(r"評価値\s*[=:：]?\s*([+-]?)(?:(詰|Mate|mate)|([0-9]{1,6}))")
_GAME_ID = re.compile(r"^[*']game (\S+)", re.MULTILINE)
_RESULT = re.compile(r"^[*']result (\S+?),?(?:\s|$)", re.MULTILINE)
_CSA_MOVE = re.compile(r"(?:^|,)[+-][0-9]{4}[A-Z]{2}", re.MULTILINE)
_KIF_MOVE = re.compile(r"^\s*[0-9]+\s+\S", re.MULTILINE)
_ILLEGAL = re.compile(r"illegal move at index ([0-9]+)")


def read_csa(source: Source) -> Iterator[Batch]:
    """Yield the positions of a CSA file.  Raises DataFileError."""
    return batches_of(source, positions_of(source, csa_games(source)))


def read_kif(source: Source) -> Iterator[Batch]:
    """Yield the positions of a KIF file, in UTF-8 or Shift JIS.  Raises DataFileError."""
    return batches_of(source, positions_of(source, kif_games(source)))


def csa_games(source: Source) -> Iterator[RecordedGame]:
    """Yield the games of a CSA file, unfinished ones included.

    Raises DataFileError, with line and game, for text that is not CSA and for illegal moves.
    """
    first, game = 1, list[str]()
    number = 0
    for at, line in _closed(source, "/"):
        if line.rstrip() != "/":
            game.append(line.rstrip())
            continue
        if any(game):
            number += 1
            yield _recorded(source, game, number, first, is_csa=True)
        first, game = at + 1, []


def kif_games(source: Source) -> Iterator[RecordedGame]:
    """Yield the games of a KIF file, unfinished ones included.

    Raises DataFileError, with line and game, for text that is not KIF and for illegal moves.
    """
    first, game = 1, list[str]()
    number = 0
    has_moves = False
    for at, line in _closed(source, "#KIF"):
        begins = line.startswith("#KIF") or (has_moves and _is_heading(line))
        if begins and any(text and text[0] not in "#&" for text in game):
            number += 1
            yield _recorded(source, game, number, first, is_csa=False)
            first, game, has_moves = at, [], False
        game.append(line.rstrip())
        has_moves = has_moves or _KIF_MOVE.match(line) is not None


def _closed(source: Source, end: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file, and a last one that ends its last game."""
    number = 0
    for number, line in source.lines():
        yield number, line
    yield number + 1, end


def _is_heading(line: str) -> bool:
    """Return whether a line such as 先手：a can begin a game."""
    return line[:1] not in "*#&" and "：" in line and not line.startswith("変化")


def _recorded(
    source: Source, lines: list[str], number: int, first: int, *, is_csa: bool
) -> RecordedGame:
    """Return the game of some lines; `first` is the number of the first line."""
    text = "\n".join([*lines, ""])
    # blank lines may precede a game
    first += next(i for i, line in enumerate(lines) if line)
    text = text.lstrip("\n")
    try:
        record = Record.from_csa_str(text) if is_csa else Record.from_kif_str(text)
        start = normalise_sfen(record.init_position_sfen)
    except ValueError as error:
        at, fault = _fault(text, str(error), is_csa=is_csa)
        raise source.error(first + at, f"game {number}: {fault}") from None
    entries = record.moves
    at, fault = _unread(text, record, is_csa=is_csa)
    if fault:
        raise source.error(first + at, f"game {number}: {fault}")
    game_id = _GAME_ID.search(text)
    game = RecordedGame(
        number,
        first,
        "" if game_id is None else game_id[1],
        None if start == START_SFEN else start,
        [entry.move.to_usi() for entry in entries],
        [_score(entry, is_csa=is_csa) for entry in entries],
    )
    while game.book < len(entries) and entries[game.book].comment == "book":
        game.book += 1
    game.result, game.is_forfeit = _outcome(record.result, text)
    return game


def _outcome(result: GameResult, text: str) -> tuple[float, bool]:
    """Return the result from Black's side, NaN for none, and whether it was a forfeit."""
    if result.is_win() or result.is_draw():
        value = 0.5 if result.is_draw() else float(result.is_black_win())
        return value, result.name.endswith(("TIMEOUT", "ILLEGAL_MOVE", "FORFEIT"))
    # adjudicated games have no word of their own in the formats: ringmaster adds a comment
    comments = _RESULT.findall(text)
    return RESULTS.get(comments[-1], math.nan) if comments else math.nan, False


def _score(entry: MoveEntry, *, is_csa: bool) -> float:
    """Return the score of a move, from Black's side, NaN for none."""
    if is_csa:
        info = entry.engine_info
        value = None if info is None else info.eval
    else:
        match = _SCORE.search(entry.comment or "")
        value = None if match is None else MATE_SCORE if match[2] else int(match[3])
        value = -value if match is not None and match[1] == "-" and value else value
    if value is None:
        return math.nan
    return math.copysign(MATE, value) if abs(value) >= _MATES else limited(float(value))


def _fault(text: str, message: str, *, is_csa: bool) -> tuple[int, str]:
    """Return the line of an error of rsshogi, from 0, and its message with the line's text."""
    index = _ILLEGAL.search(message)
    if index is not None:
        moves = list((_CSA_MOVE if is_csa else _KIF_MOVE).finditer(text))
        place = moves[int(index[1])].end() if int(index[1]) < len(moves) else 0
        message = f"move {int(index[1]) + 1} is not legal"
    else:
        # rsshogi quotes the line at the end of its message
        place = max(text.find(message.rpartition(": ")[2].strip()), 0)
    at = text.count("\n", 0, place)
    return at, f"{message}: {shown(text.splitlines()[at].strip(), 60)}"


def _unread(text: str, record: Record, *, is_csa: bool) -> tuple[int, str]:
    """Return the first line that rsshogi passed over, from 0, and the fault; (0, "") for none."""
    if is_csa:
        for at, line in enumerate(text.splitlines()):
            if line and line[0] not in "VN$P+-T'%":
                return at, f"this is not a line of CSA: {shown(line, 60)}"
    else:
        terminal = record.main_terminal
        word = None if terminal is None else terminal.unknown_name
        if word and word != "封じ手":  # a sealed move: the game was interrupted
            at = text.count("\n", 0, text.find(word))
            return at, f"this is not a move of KIF: {shown(word, 60)}"
    if not record.move_count and record.main_terminal is None:
        return 0, "it has no moves and no result"
    return 0, ""
