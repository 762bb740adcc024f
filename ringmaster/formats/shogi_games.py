"""Read the games of CSA and KIF files, with the scores of their moves.

rsshogi reads both formats.  Scores come from the comments '** of floodgate's programs in CSA,
and in both formats from comments with the word 評価値, as ShogiHome, ShogiGUI and Shogidokoro
write them.  They are from Black's side, for the move before the comment.  Variations and
bookmarks of KIF are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from rsshogi.record import GameResult, MoveEntry, Record

from ringmaster.formats.annotations import read_time_controls
from ringmaster.formats.recorded_game import RESULTS, RecordedGame, limited
from ringmaster.formats.shogi_records import MATE_SCORE
from ringmaster.formats.source import MATE, Source
from ringmaster.games.clean_text import shown
from ringmaster.games.sfen import START_SFEN, normalise_sfen

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


def csa_games(source: Source) -> Iterator[RecordedGame]:
    """Yield the games of a CSA file, unfinished ones included.

    Bad games are left out and reported to `source`; the caller calls `source.finish`.  An
    illegal last move of a game that was lost by it is no fault of the file.

    Raises DataFileError.
    """
    return _games(source, is_csa=True)


def kif_games(source: Source) -> Iterator[RecordedGame]:
    """Yield the games of a KIF file; see `csa_games`."""
    return _games(source, is_csa=False)


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
            _annotate(game, record)
        yield game


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


def _annotate(game: RecordedGame, record: Record) -> None:
    """Fill the fields for boards."""
    about = record.metadata
    game.date = (about.start_date or "").replace("/", "-")
    game.opening = about.attributes.get("OPENING") or about.attributes.get("戦型", "")
    game.time_controls = read_time_controls(record.initial_comment or "", ("Black", "White"))
    game.comments = [entry.comment or "" for entry in record.moves]


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
