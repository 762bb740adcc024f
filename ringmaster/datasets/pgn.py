"""Games of PGN files with the scores of their moves.

Which scores are read: what fastchess, cutechess-cli and ringmaster write of a move,
"+0.35/12 0.1s" or "-M4/20", from the side that made it; "[%eval 0.17]" and
"[%eval #-3]", from White, of the position *after* the move, as lichess.org has it;
"wv=0.35", from White, of the move, as TCEC's records have it.  Variations are passed
over.  Reading takes some 15 microseconds a ply, the moves' notation most of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ringmaster.datasets.recorded_game import MATE, RESULTS, RecordedGame, limited
from ringmaster.errors import DatasetError
from ringmaster.games.game import Game
from ringmaster.games.pgn_text import NULL_MOVES, TAG, san_of
from ringmaster.games.san import read_san
from ringmaster.games.start import beginning
from ringmaster.games.text import one_line, shown
from ringmaster.games.variants import check_variant_tag

#: Characters of a bad line that an error shows.
_QUOTED = 60

_BEFORE_SEMICOLON = re.compile(r"((?:[^{};]|\{[^}]*\})*);")
_TOKEN = re.compile(r"\{([^}]*)\}|([()])|([{}])|\$\d+|([^\s{}()$]+)|\$")
_COMMENT, _BRACKET, _BRACE, _WORD = range(1, 5)
_WORD_BEGINS = re.compile(r"\S")

_OF_MOVE = re.compile(
    r"\s*(?:\([^)]*\)\s*)?([+-]?)(?:[M#](\d+)|(\d{1,5}\.\d+))(?:/\d+)?(?=[\s,;]|$)"
)
_OF_POSITION = re.compile(r"\[%eval\s+(?:#([+-]?)\d+|([+-]?\d{1,5}(?:\.\d+)?))")
_OF_TCEC = re.compile(r"(?:^|[\s,])wv=(?:([+-]?)M\d+|([+-]?\d{1,5}(?:\.\d+)?))")

#: Values of the Termination tag that tell of a fault.
_FORFEITS = frozenset(("time forfeit", "rules infraction", "abandoned", "stalled connection"))


@dataclass(slots=True)
class _Text:
    """One game as lines: tags, and what stands below them."""

    line: int
    tags: dict[str, str] = field(default_factory=dict)
    moves_line: int = 0
    lines: list[str] = field(default_factory=list)


def pgn_games(lines: Iterable[str], name: str, variant: str = "standard") -> Iterator[RecordedGame]:
    """Yield the games of a PGN file, unfinished ones included.

    lines    its lines, of which any may end in a line break
    name     what errors call the file
    variant  "standard", "chess960" or a name of `variant_names`

    Raises DatasetError, with line and game, for what is no PGN, moves that are not
    legal, and games of another variant.
    """
    begin = beginning("chess", variant=variant)
    number = 0
    for text in _texts(lines, name):
        rest = 0
        while True:
            number += 1
            reader = _Reader(name, number, text, rest)
            try:
                check_variant_tag(text.tags.get("Variant", ""), variant)
                position = begin(text.tags.get("FEN"))
            except ValueError as error:
                raise DatasetError(name, text.line, f"game {number}: {error}") from None
            game = reader.read(position)
            if game is None:
                number -= 1
                break
            yield game
            if not reader.has_more:
                break
            # another game begins behind the result, without tags
            rest = reader.at
            text.tags = {}


def _texts(lines: Iterable[str], name: str) -> Iterator[_Text]:
    text: _Text | None = None
    in_comment = False
    for at, line in enumerate(lines, 1):
        line = line.rstrip()
        if not in_comment:
            if line[:1] == "%":
                line = ""
            if line[:1] == "[" and not line.startswith("[%"):
                tag = TAG.fullmatch(line)
                if tag is None:
                    raise DatasetError(name, at, f"this is no PGN tag: {shown(line, _QUOTED)}")
                if text is not None and (text.lines or tag[1] in text.tags):
                    yield text
                    text = None
                if text is None:
                    text = _Text(at)
                text.tags[tag[1]] = re.sub(r"\\(.)", r"\1", tag[2])
                continue
            if ";" in line and (found := _BEFORE_SEMICOLON.match(line)) is not None:
                line = found[1]
        if text is None:
            if not line:
                continue
            text = _Text(at)
        if not text.lines:
            if not line:
                continue
            text.moves_line = at
        text.lines.append(line)
        closed = line.rfind("}")
        opened = line.rfind("{")
        if opened != closed:
            in_comment = opened > closed
    if text is not None:
        yield text


class _Reader:
    """Reads the moves of one game."""

    def __init__(self, name: str, number: int, text: _Text, begin: int) -> None:
        self._name, self._number, self._text = name, number, text
        self._moves = "\n".join(text.lines)
        self.at = begin
        self.has_more = False

    def read(self, position: Game) -> RecordedGame | None:
        """Play the moves from `position`; returns the game, None when there is none.
        Raises DatasetError."""
        tags = self._text.tags
        found = RecordedGame(
            self._number,
            self._text.line if self.at == 0 else self._line(self.at),
            one_line(tags.get("GameId") or tags.get("Round", "")).strip("?-"),
            # as the rules write it
            position.position() if "FEN" in tags else None,
            is_forfeit=tags.get("Termination", "").casefold() in _FORFEITS,
        )
        scores = found.scores
        #: What was said of the position that stands on the board.
        here = math.nan
        depth = 0
        result = None
        match = None
        for match in _TOKEN.finditer(self._moves, self.at):
            kind = match.lastindex
            if kind == _BRACKET:
                depth += 1 if match[2] == "(" else -1
                if depth < 0:
                    raise self._error(match.start(), "a ) that closes nothing")
            elif kind == _BRACE:
                what = "a comment that does not end" if match[3] == "{" else "a } without a {"
                raise self._error(match.start(), what)
            elif depth or kind is None:
                continue
            elif kind == _COMMENT:
                if scores:
                    here = self._take_comment(found, match[_COMMENT], position)
                else:
                    here = _white_score(match[_COMMENT], _OF_POSITION)
            else:
                word = match[_WORD]
                if word in RESULTS or word == "*":
                    result = word
                    break
                if san := san_of(word):
                    scores.append(here)
                    here = math.nan
                    self._play(position, san, match.start())
        if depth:
            raise self._error(len(self._moves) - 1, "a variation that does not end")
        if result is None and not scores and not tags:
            return None
        if result is not None and match is not None:
            more = _WORD_BEGINS.search(self._moves, match.end())
            self.has_more = more is not None
            self.at = match.end() if more is None else more.start()
        found.moves = position.moves
        result = result or tags.get("Result", "*")
        found.result = RESULTS.get(result, math.nan)
        return found

    def _play(self, position: Game, san: str, at: int) -> None:
        if san in NULL_MOVES:
            raise self._error(at, f"a null move, which no engine can make: {shown(san)}")
        try:
            move = read_san(position, san)
        except ValueError as error:
            raise self._error(at, f"{shown(san, _QUOTED)}: {error}") from None
        position.play(move)

    def _take_comment(self, found: RecordedGame, text: str, position: Game) -> float:
        """Take what the comment says of the move before it; returns what it says of the
        position after it, from White."""
        scores = found.scores
        if text == "book" and found.book == len(scores) - 1:
            found.book += 1
            return math.nan
        own = _OF_MOVE.match(text)
        if own is not None:
            score = MATE if own[3] is None else _centipawns(own[3])
            # who made the move is not to move any more
            if (own[1] == "-") != (position.to_move == 0):
                score = -score
            scores[-1] = score
        elif "wv=" in text:
            scores[-1] = _white_score(text, _OF_TCEC)
        return _white_score(text, _OF_POSITION) if "[%eval" in text else math.nan

    def _line(self, at: int) -> int:
        return self._text.moves_line + self._moves.count("\n", 0, at)

    def _error(self, at: int, what: str) -> DatasetError:
        return DatasetError(self._name, self._line(at), f"game {self._number}: {what}")


def _white_score(text: str, form: re.Pattern[str]) -> float:
    """Return the score, from White, that a comment has in a form whose first group is
    the sign of a mate and whose second is pawns; NaN for none."""
    match = form.search(text)
    if match is None:
        return math.nan
    if match[2] is None:
        return -MATE if match[1] == "-" else MATE
    return _centipawns(match[2])


def _centipawns(pawns: str) -> float:
    return limited(round(100 * float(pawns), 3))
