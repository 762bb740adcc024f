"""Read the main lines of PGN files, with their comments and the line of each fault.

python-chess reads the moves of chess and Chess960, pyffish those of other variants.
`chess.pgn` itself cannot take the place of this module: it knows neither the moves of
variants such as xiangqi nor line numbers, and it passes over words that are no moves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import chess

from ringmaster.games.clean_text import shown
from ringmaster.games.game import Begin, Game, beginning
from ringmaster.games.variants import VariantGame, check_variant_tag

_TAG = re.compile(r'\[\s*([A-Za-z0-9_]+)\s+"(.*)"\s*\]')
_TOKEN = re.compile(r"\{[^}]*\}?|[();}]|\$\d+|[^\s{}();$]+|\$")
_NUMBER = re.compile(r"\d+\.+|\d+$|\.+")
_RESULTS = frozenset(("1-0", "0-1", "1/2-1/2", "*"))
_NULL_MOVES = frozenset(("--", "Z0", "0000", "@@@@", "null"))
#: Characters of a bad line that an error shows.
_QUOTED = 60
#: Plies of a game that are remembered for the next games, and the most of all games.
_SHARED_PLIES, _SHARED_MOVES = 40, 300_000

#: Moves in UCI by SAN, each with the moves that have followed it.
_Tree = dict[str, tuple[str, Any]]


class PgnError(Exception):
    """A fault in a PGN file: `line` and `message`, which names the game."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(line, message)
        self.line, self.message = line, message


@dataclass(slots=True)
class PgnGame:
    """One game of a file.

    number    place in the file, from 1
    line      where it begins, from 1
    start     position as the rules write it, None without a FEN tag
    position  after the last move; holds the moves in UCI
    comments  (plies before it, text)
    result    behind the moves, "" for none
    """

    number: int
    line: int
    tags: dict[str, str]
    start: str | None
    position: Game
    comments: list[tuple[int, str]]
    result: str = ""

    @property
    def moves(self) -> list[str]:
        """The moves in UCI."""
        return self.position.moves


def read_games(
    lines: Iterable[tuple[int, str]],
    variant: str = "standard",
    plies: int | None = None,
    previous: int = 0,
) -> Iterator[PgnGame]:
    """Yield the games of a PGN file; a game ends at its result or before the next tags.

    lines    (number, text)
    variant  "standard", "chess960" or a name of `variant_names`
    plies    moves that are read of each game, None for all; later ones are not checked
    previous number of games before these

    Raises PgnError.
    """
    reader = _Reader(variant, plies, previous)
    for number, line in lines:
        yield from reader.read(number, line)
    yield from reader.finish()


class _Reader:
    """Splits lines into tags, moves and comments."""

    def __init__(self, variant: str, plies: int | None, previous: int) -> None:
        self._variant = variant
        self._begin: Begin = beginning("chess", variant=variant)
        self._plies = plies
        self._number = previous
        self._line = 0
        self._tags: dict[str, str] = {}
        self._comments: list[tuple[int, str]] = []
        self._moves: _Moves | None = None
        #: Lines of a comment that is still open, and the number of its first line.
        self._comment: list[str] = []
        self._comment_line = 0
        #: Lines in which open variations begin.
        self._variations: list[int] = []
        self._memory = _Memory()

    def read(self, at: int, line: str) -> Iterator[PgnGame]:
        """Yield the games that end on a line."""
        if self._comment:
            text, closed, line = line.partition("}")
            self._comment.append(text)
            if not closed:
                return
            self._add_comment("\n".join(self._comment)[1:])
            self._comment = []
        elif line.startswith("%"):
            return
        elif line.startswith("[") and (
            (tag := _TAG.fullmatch(line.rstrip())) or not self._variations
        ):
            if tag is None:
                raise PgnError(at, f"this is not a PGN tag: {shown(line, _QUOTED)}")
            self._check_closed()
            if self._moves is not None or tag[1] in self._tags:
                yield from self._end()
            self._line = self._line or at
            self._tags[tag[1]] = re.sub(r"\\(.)", r"\1", tag[2])
            return
        for match in _TOKEN.finditer(line):
            token = match[0]
            if token == ";":
                break
            if token[0] == "{" and token[-1] != "}":
                self._comment, self._comment_line = [token], at
            elif token in ")}" and not (token == ")" and self._variations):
                raise self._error(at, f"{token} closes nothing: {shown(line, _QUOTED)}")
            elif token == ")":
                self._variations.pop()
            elif token == "(":
                self._variations.append(at)
            elif self._variations or token[0] == "$":
                continue
            elif token[0] == "{":
                self._add_comment(token[1:-1])
            elif token in _RESULTS:
                self._started(at).game.result = token
                yield from self._end()
            elif san := _san_of(token):
                moves = self._started(at)
                if self._plies is None or len(moves.game.moves) < self._plies:
                    self._play(moves, san, at)

    def finish(self) -> Iterator[PgnGame]:
        """Yield the last game if it has no result."""
        self._check_closed()
        if self._line:
            yield from self._end()

    def _end(self) -> Iterator[PgnGame]:
        yield self._started(self._line).game
        self._line, self._tags, self._comments, self._moves = 0, {}, [], None

    def _started(self, at: int) -> _Moves:
        """Return the moves of the current game, which begins here if there is none."""
        if self._moves is None:
            self._number += 1
            self._line = self._line or at
            start = fen = self._tags.get("FEN")
            fault = ""
            try:
                check_variant_tag(self._tags.get("Variant", ""), self._variant)
                fault = "" if fen is None else f": {shown(fen, _QUOTED)}"
                position = self._begin(fen)
            except ValueError as error:
                raise PgnError(self._line, f"game {self._number}: {error}{fault}") from None
            if fen is not None:
                start = position.position()
            game = PgnGame(self._number, self._line, self._tags, start, position, self._comments)
            self._moves = _Moves(game, self._variant == "chess960", self._memory)
        return self._moves

    def _add_comment(self, text: str) -> None:
        if not self._variations:
            plies = 0 if self._moves is None else len(self._moves.game.moves)
            self._comments.append((plies, text))

    def _play(self, moves: _Moves, san: str, at: int) -> None:
        if san in _NULL_MOVES:
            raise self._error(at, f"an engine cannot make a null move: {shown(san)}")
        try:
            moves.play(san)
        except ValueError as error:
            before = " ".join(moves.sans[-4:])
            before = f" (after {'… ' if len(moves.sans) > 4 else ''}{before})" if before else ""
            raise self._error(at, f"{shown(san, _QUOTED)} {error}{before}") from None

    def _check_closed(self) -> None:
        """Raise PgnError for a comment or a variation that is still open."""
        if self._comment:
            raise self._error(self._comment_line, "a comment begins here and does not end")
        if self._variations:
            raise self._error(self._variations[-1], "a variation begins here and does not end")

    def _error(self, at: int, what: str) -> PgnError:
        return PgnError(at, f"game {self._number + (self._moves is None)}: {what}")


@dataclass(slots=True)
class _Memory:
    """Moves that have been read, by start position."""

    roots: dict[str | None, _Tree] = field(default_factory=dict)
    size: int = 0


class _Moves:
    """Plays the moves of one game from SAN."""

    def __init__(self, game: PgnGame, chess960: bool, memory: _Memory) -> None:
        self.game, self._chess960, self._memory = game, chess960, memory
        self._tree: _Tree = memory.roots.setdefault(game.start, {})
        self._board: chess.Board | None = None
        self.sans: list[str] = []

    def play(self, san: str) -> None:
        """Play a move.  Raises ValueError, which continues a sentence that the move begins."""
        position = self.game.position
        known = self._tree.get(san)
        if known is not None:
            # games of a book share their first moves
            move, self._tree = known
        else:
            move = self._read(san)
            following: _Tree = {}
            if len(self.sans) < _SHARED_PLIES and self._memory.size < _SHARED_MOVES:
                self._tree[san] = move, following
                self._memory.size += 1
            self._tree = following
        position.play(move)
        self.sans.append(san)

    def _read(self, san: str) -> str:
        if isinstance(self.game.position, VariantGame):
            return self.game.position.from_san(san)
        if self._board is None:
            self._board = chess.Board(
                self.game.start or chess.STARTING_FEN, chess960=self._chess960
            )
            for move in self.game.moves:
                self._board.push_uci(move)
        try:
            step = self._board.parse_san(san.rstrip("+#").replace(":", "x"))
        except chess.AmbiguousMoveError:
            raise ValueError("is ambiguous") from None
        except chess.IllegalMoveError:
            raise ValueError("is not legal here") from None
        except ValueError:
            raise ValueError("is not a move") from None
        text = self._board.uci(step)
        self._board.push(step)
        return text


def _san_of(word: str) -> str:
    """Return a word without its move number and marks such as "!?", "" for neither."""
    match = _NUMBER.match(word)
    if match is not None:
        word = word[match.end() :]
    return "" if word in ("e.p.", "ep") else word.rstrip("!?")
