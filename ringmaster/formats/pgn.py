"""Read the games of PGN files: main lines with the scores of their comments.

`chess.pgn` knows neither line numbers nor variants such as xiangqi, and passes over words that
are no moves.  A CPU second reads 180,000 plies of engine games with comments (`chess.pgn`:
52,000), and 188,000 plies of a book with 16 plies a game (`chess.pgn`: 63,000).

Three kinds of comments hold scores:

- fastchess, cutechess-cli and ringmaster write "+0.35/12 0.1s" or "-M4/20" after a move, from
  its mover's side;
- lichess.org writes "[%eval 0.17]" and "[%eval #-3]", from White's side, for the position
  *after* the move;
- TCEC writes "wv=0.35", from White's side, for the move.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from ringmaster.formats.recorded_game import RESULTS, RecordedGame, limited
from ringmaster.formats.source import MATE, Source
from ringmaster.games.clean_text import one_line, shown
from ringmaster.games.game import Game, beginning
from ringmaster.games.san import move_of, san_moves
from ringmaster.games.variants import check_variant_tag

#: A tag, whose value may have quotes and backslashes that are not escaped, but no other tag.
_TAG = re.compile(
    r'\[\s*(\w+)\s+"((?:\\.|[^\\"\[]|\[(?!\s*\w+\s+")|"(?!\s*\])|\\(?="\s*\]\s*$))*)"\s*\]'
)
#: The most lines of a tag.
_TAG_LINES = 10
#: A move number, or a token in a group.
_TOKEN = re.compile(
    r"\d*[.…]+|\d{1,3}(?=\s|$)|"
    r"(\{[^}]*\}?|[();}]|\$\d*|[^\s{}();$]+(?:(?<=[a-h][18])\([NBRQ]\)[^\s{}();$]*)?)"
)
_POINTS = {**RESULTS, "*": math.nan}
_NULL_MOVES = frozenset(("--", "Z0", "0000", "@@@@", "null"))
#: Signs that judge a move or a position, and words of printed games.
_SIGNS = "!?±∓⩲⩱=∞□⊕⟳→↑⇆⇄⇔∆Δ○⌓≤≥+-/#~…"
_WORDS = frozenset(("N", "D", "e.p.", "ep", "ch", "mate"))
#: Characters of a bad line that an error shows.
_QUOTED = 60

_OF_MOVE = re.compile(
    r"\s*(?:\([^)]*\)\s*)?([+-]?)(?:[M#](\d+)|(\d{1,5}\.\d+))(?:/\d+)?(?=[\s,;]|$)(?!\s+s\b)"
)
_OF_POSITION = re.compile(r"\[%eval\s+(?:#([+-]?)\d+|([+-]?\d{1,5}(?:\.\d+)?))")
_OF_TCEC = re.compile(r"(?:^|[\s,])wv=(?:([+-]?)M\d+|([+-]?\d{1,5}(?:\.\d+)?))")

#: The Termination tag, or the comment of the last move, of a game that was lost by a fault: words
#: of engine matches, of lichess.org, chess.com and FICS.
_FORFEIT = re.compile(
    r"\b(?:time forfeit|(?:loses|lost|won|wins) on time|forfeits|rules infraction|illegal move"
    r"|abandoned|disconnects|stalled connection|connection stalls)\b",
    re.IGNORECASE,
)


def pgn_games(source: Source, plies: int | None = None) -> Iterator[RecordedGame]:
    """Yield the games of a PGN file, unfinished ones included.

    A game ends at its result or before the next tags.  Bad games are left out and reported to
    `source`; the caller calls `source.finish`.  An illegal last move of a game that was lost
    by it is no fault of the file.

    plies  moves that are read of each game, None for all; later ones are not checked

    Raises DataFileError.
    """
    reader = _Reader(source, plies)
    for at, line in source.lines():
        reader.read(at, line)
        while reader.ended:
            yield reader.ended.pop(0)
    reader.finish()
    yield from reader.ended


class _Reader:
    """Splits lines into tags, moves and comments.

    ended  good games whose end has been read
    """

    def __init__(self, source: Source, plies: int | None) -> None:
        self._source = source
        self._begin = beginning("chess", variant=source.variant)
        self._plies = math.inf if plies is None else plies
        self._number = source.previous
        #: Whether an empty line precedes the current line or tag.
        self._after_blank = False
        self.ended: list[RecordedGame] = []
        self._reset()

    def _reset(self) -> None:
        """Expect a game."""
        self._line = 0
        #: Names of tags in lower case.
        self._tags: dict[str, str] = {}
        self._start: str | None = None
        self._position: Game | None = None
        self._result = ""
        #: (plies before it, text)
        self._comments: list[tuple[int, str]] = []
        #: Line and message of the first fault.
        self._fault: tuple[int, str] | None = None
        #: Whether the moves end with the first word that cannot be played.
        self._ends_unplayable = False
        #: Whether the next tag begins another game.
        self._has_moves = False
        #: Lines of a tag and of a comment that are still open, with the number of the first line.
        self._open_tag: list[str] = []
        self._open_comment: list[str] = []
        self._opened = 0
        #: Lines in which open variations begin.
        self._variations: list[int] = []

    def read(self, at: int, line: str) -> None:
        """Read the next line."""
        # files with the mark may have been joined
        line = line.removeprefix("\ufeff")
        tag = _TAG.match(line) if line.startswith("[") else None
        if not line.strip():
            self._after_blank = True
        elif tag is None or (self._open_comment and not self._after_blank):
            # a tag that no empty line separates from a comment belongs to it
            tag, self._after_blank = None, False
        if self._open_tag:
            line = self._continued_tag(line)
            tag = _TAG.match(line)
        elif self._open_comment and tag is None:
            text, closed, rest = line.partition("}")
            self._open_comment.append(text)
            if closed:
                self._add_comment("\n".join(self._open_comment))
                self._open_comment = []
                self._read_moves(at, rest)
            return
        elif line.startswith("%"):
            return
        while tag is not None or (line.startswith("[") and not self._variations):
            if tag is None:
                self._open_tag, self._opened = [line], at
                return
            self._add_tag(at, tag)
            line = line[tag.end() :].lstrip()
            tag = _TAG.match(line)
        self._read_moves(at, line)

    def finish(self) -> None:
        """End the last game if it has no result."""
        self._check_closed()
        if self._line:
            self._end()

    def _continued_tag(self, line: str) -> str:
        """Return the tag that a line completes, "" for a part of it, `line` for other text."""
        joined = " ".join([*self._open_tag, line.strip()])
        if _TAG.match(joined):
            self._open_tag = []
            return joined
        if line.strip() and line[0] != "[" and len(self._open_tag) < _TAG_LINES:
            self._open_tag.append(line.strip())
            return ""
        self._check_closed()
        return line

    def _add_tag(self, at: int, tag: re.Match[str]) -> None:
        self._check_closed()
        name = tag[1].lower()
        value = re.sub(r"\\(.)", r"\1", tag[2]) if "\\" in tag[2] else tag[2]
        if self._has_moves or (name in self._tags and self._after_blank):
            self._end()
        self._after_blank = False
        self._line = self._line or at
        # comments before the tags belong to the game before
        self._comments.clear()
        if self._tags.setdefault(name, value) != value and name == "fen":
            self._add_fault(at, f"there is a second position: {shown(value, _QUOTED)}")

    def _read_moves(self, at: int, line: str) -> None:
        for token in _TOKEN.findall(line):
            first = token[:1]
            if not first:
                continue
            if first == "{":
                if token[-1] == "}" and len(token) > 1:
                    self._add_comment(token[1:-1])
                else:
                    self._open_comment, self._opened = [token[1:]], at
            elif first == ";":
                break
            elif first == "(":
                self._variations.append(at)
            elif first == ")" and self._variations:
                self._variations.pop()
            elif first == ")" or first == "}":
                self._add_fault(at, f"{token} closes nothing: {shown(line, _QUOTED)}")
            elif first != "$" and not self._variations:
                self._read_word(at, token)

    def _read_word(self, at: int, word: str) -> None:
        """Read a move, a sign or a result."""
        if word in _POINTS:
            # a repeated result is no game
            if self._line:
                self._begin_moves(at)
                self._result = word
                self._end()
            return
        is_null = word in _NULL_MOVES
        if not is_null:
            word = word.rstrip(_SIGNS)
            if not word or word in _WORDS:
                return
        position = self._position if self._has_moves else self._begin_moves(at)
        if position is None or self._fault is not None:
            self._ends_unplayable = False
        elif len(position.moves) < self._plies:
            try:
                if is_null:
                    raise ValueError("is a null move, which no player can make")
                position.play(move_of(position, word))
            except ValueError as error:
                before = san_moves(self._source.variant, self._start, position.moves)
                after = f" (after {'… ' if len(before) > 4 else ''}{' '.join(before[-4:])})"
                shown_word = shown(word, _QUOTED)
                self._add_fault(at, f"{shown_word} {error}{after if before else ''}")
                self._ends_unplayable = True

    def _begin_moves(self, at: int) -> Game | None:
        """Return the position of the current game, None where its start is not known."""
        if not self._has_moves:
            self._has_moves = True
            self._line = self._line or at
            fen = self._tags.get("fen")
            try:
                if fen is None and self._tags.get("setup") == "1":
                    raise ValueError("the tag SetUp tells of a position, but there is no tag FEN")
                check_variant_tag(self._tags.get("variant", ""), self._source.variant)
                self._position = self._begin(fen)
            except ValueError as error:
                fault = "" if fen is None else f": {shown(fen, _QUOTED)}"
                self._add_fault(self._line, f"{error}{fault}")
            else:
                self._start = None if fen is None else self._position.position()
        return self._position

    def _add_comment(self, text: str) -> None:
        if not self._variations:
            plies = 0 if self._position is None else len(self._position.moves)
            self._comments.append((plies, text))

    def _add_fault(self, at: int, message: str) -> None:
        self._line = self._line or at
        self._fault = self._fault or (at, message)

    def _check_closed(self) -> None:
        """Close everything that is still open, as a fault of the game."""
        if self._open_tag:
            self._add_fault(self._opened, f"this is not a PGN tag: {shown(self._open_tag[0], 60)}")
        elif self._open_comment:
            self._add_fault(self._opened, "a comment begins here and does not end")
            self._has_moves = True
        elif self._variations:
            self._add_fault(self._variations[-1], "a variation begins here and does not end")
        self._open_tag, self._open_comment, self._variations = [], [], []

    def _end(self) -> None:
        """Record the game or its fault, and expect another game."""
        self._number += 1
        position = self._begin_moves(self._line)
        tags = self._tags
        points = _POINTS.get(self._result or tags.get("result", "*"), math.nan)
        plies, last = self._comments[-1] if self._comments else (0, "")
        if position is None or plies < len(position.moves):
            last = ""
        is_forfeit = any(map(_FORFEIT.search, (tags.get("termination", ""), last)))
        if self._ends_unplayable and points in (0.0, 1.0) and is_forfeit:
            self._fault = None
        if position is not None and not (position.moves or self._start or self._result):
            self._add_fault(self._line, "it has no moves and no result")
        if position is None or self._fault is not None:
            at, message = self._fault or (self._line, "")
            self._source.bad(at, f"game {self._number}: {message}", "bad games")
        else:
            game = RecordedGame(
                self._number,
                self._line,
                one_line(tags.get("gameid") or tags.get("round", "")).strip("?-"),
                self._start,
                position.moves,
                [math.nan] * len(position.moves),
                result=points,
                is_forfeit=is_forfeit,
                opening=_opening_name(tags),
            )
            _read_comments(game, self._comments)
            self.ended.append(game)
        self._reset()


def _opening_name(tags: dict[str, str]) -> str:
    titles = [one_line(tags.get(key, ""), 80) for key in ("eco", "opening", "variation")]
    return " ".join(title for title in titles if title.strip("?"))


def _read_comments(game: RecordedGame, comments: list[tuple[int, str]]) -> None:
    """Record the scores of comments; see `_Reader`."""
    black_begins = game.start is not None and game.start.split()[1] == "b"
    count = len(game.moves)
    for plies, text in comments:
        own = _OF_MOVE.match(text) if plies else None
        if own is not None:
            score = MATE if own[3] is None else _centipawns(own[3])
            of_black = (plies - 1 + black_begins) % 2 == 1
            game.scores[plies - 1] = -score if (own[1] == "-") != of_black else score
        elif text == "book" and game.book == plies - 1:
            game.book += 1
        elif plies and "wv=" in text:
            game.scores[plies - 1] = _white_score(text, _OF_TCEC)
        if plies < count and "[%eval" in text:
            game.scores[plies] = _white_score(text, _OF_POSITION)


def _white_score(text: str, form: re.Pattern[str]) -> float:
    """Return White's score in a comment, NaN for none.

    form  first group: sign of a mate; second group: pawns
    """
    match = form.search(text)
    if match is None:
        return math.nan
    if match[2] is None:
        return -MATE if match[1] == "-" else MATE
    return _centipawns(match[2])


def _centipawns(pawns: str) -> float:
    return limited(round(100 * float(pawns), 3))
