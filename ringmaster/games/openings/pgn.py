"""Opening books in PGN: the main line of each game, from its start position.

Comments, variations, glyphs and results are passed over.  python-chess's reader
takes 1.2 ms for a game of 50 plies with comments, and goes on after a move that it
cannot read; this one takes 0.35 ms (0.17 where 16 plies are wanted) and stops there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ringmaster.errors import OpeningsError
from ringmaster.games.game import Game
from ringmaster.games.openings.positions import check_goes_on
from ringmaster.games.openings.text import LONGEST_OF_PGN, QUOTED, numbered_lines
from ringmaster.games.pgn_text import NULL_MOVES, TAG, san_of
from ringmaster.games.san import read_san
from ringmaster.games.start import Begin
from ringmaster.games.text import one_line, shown
from ringmaster.games.variants import check_variant_tag
from ringmaster.model.jobs import Opening

_COMMENT = re.compile(r"\{[^}]*\}")
_TOKEN = re.compile(r"[{}();]|\$\d+|[^\s{}();$]+|\$")
#: What must be looked at even after the last move that is wanted.
_SPECIAL = re.compile(r"[{}();*]|1-0|0-1|1/2")
_RESULTS = frozenset(("1-0", "0-1", "1/2-1/2", "*"))
#: Moves remembered, so that a line that many games have is read once.
_REMEMBERED = 300_000


class _Node:
    """A move that some game of the file has made, with what followed it."""

    __slots__ = ("move", "next")

    def __init__(self, move: str) -> None:
        self.move = move
        self.next: dict[str, _Node] = {}


@dataclass(slots=True)
class _GameText:
    """One game as far as it has been read: moves in SAN, each with its line."""

    number: int
    line: int
    tags: dict[str, str] = field(default_factory=dict)
    moves: list[tuple[str, int]] = field(default_factory=list)
    has_result: bool = False


def read_pgn(
    path: str, name: str, begin: Begin, variant: str, plies: int | None
) -> Iterator[Opening]:
    """Yield the openings of a PGN file, each cut after `plies` moves.

    name  what the openings' sources begin with

    Raises OpeningsError with line, game and text for what is no PGN, a move that
    is not legal, and a line that ends the game.  What comes after `plies` moves of
    a game is not checked, but for its brackets.
    """
    memory = _Memory(begin)
    for game in _games(path, plies):
        try:
            yield _opening(game, memory, variant, name)
        except _BadMove as error:
            line, fault, text = error.args
            raise OpeningsError(path, line, f"game {game.number}: {fault}: {text}") from None
        except ValueError as error:
            raise OpeningsError(path, game.line, f"game {game.number}: {error}") from None


class _BadMove(Exception):
    """A move that cannot be played: line, what is wrong, text."""


class _Memory:
    """Moves that have been read, by start position."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin
        self._roots: dict[str | None, _Node] = {}
        self._size = 0

    def begin(self, fen: str | None) -> Game:
        """Return the start position of a game.  Raises ValueError for the FEN."""
        return self._begin(fen)

    def play(self, position: Game, fen: str | None, game: _GameText) -> None:
        """Play a game to its end from where its FEN begins.  Raises _BadMove."""
        node: _Node | None = self._roots.get(fen)
        if node is None:
            node = _Node("")
            if len(self._roots) < _REMEMBERED:
                self._roots[fen] = node
        for place, (san, line) in enumerate(game.moves):
            known = None if node is None else node.next.get(san)
            if known is None:
                try:
                    move = read_san(position, san)
                except ValueError as error:
                    before = " ".join(text for text, _ in game.moves[max(place - 4, 0) : place])
                    where = f" (after {'… ' if place > 4 else ''}{before})" if before else ""
                    raise _BadMove(line, f"{error}{where}", shown(san, QUOTED)) from None
                if node is not None and self._size < _REMEMBERED:
                    known = node.next[san] = _Node(move)
                    self._size += 1
            else:
                move = known.move
            position.play(move)
            node = known


def _opening(game: _GameText, memory: _Memory, variant: str, name: str) -> Opening:
    tags = game.tags
    check_variant_tag(tags.get("Variant", ""), variant)
    if not game.moves and "FEN" not in tags and not game.has_result:
        raise ValueError("it has no moves and no result")
    fen = tags.get("FEN")
    try:
        position = memory.begin(fen)
    except ValueError as error:
        raise ValueError(f"{error}: {shown(fen or '', QUOTED)}") from None
    # as the rules write it, with its counters
    start = None if fen is None else position.position()
    memory.play(position, fen, game)
    try:
        check_goes_on(position)
    except ValueError as error:
        raise ValueError(f"{error}; fewer `plies` would end the line before") from None
    titles = [one_line(tags.get(key, ""), 80) for key in ("ECO", "Opening", "Variation")]
    return Opening(
        fen=start,
        moves=tuple(position.moves),
        source=f"{name}#{game.number}",
        name=" ".join(title for title in titles if title.strip("?")),
    )


def _games(path: str, plies: int | None) -> Iterator[_GameText]:
    """Yield the games of a file; one ends at its result or where tags begin."""
    wanted = 1 << 30 if plies is None else plies
    game: _GameText | None = None
    number = 0
    in_moves = False
    #: Lines in which what is still open began.
    comment: int | None = None
    variations: list[int] = []
    for at, line in numbered_lines(path, longest=LONGEST_OF_PGN, latin=True):
        if comment is not None:
            _, closed, line = line.partition("}")
            if not closed:
                continue
            comment = None
        else:
            if line[0] == "%":
                continue
            tag = TAG.fullmatch(line) if line[0] == "[" else None
            if tag is not None or (line[0] == "[" and not variations):
                if variations:
                    break
                if tag is None:
                    raise OpeningsError(path, at, f"this is no PGN tag: {shown(line, QUOTED)}")
                # the same tag again: a game without moves or result has come before
                if game is not None and (in_moves or tag[1] in game.tags):
                    yield game
                    game = None
                if game is None:
                    number += 1
                    game = _GameText(number, at)
                    in_moves = False
                game.tags[tag[1]] = re.sub(r"\\(.)", r"\1", tag[2])
                continue
        if "{" in line:
            line = _COMMENT.sub(" ", line)
        if (
            game is not None
            and len(game.moves) >= wanted
            and not variations
            and not _SPECIAL.search(line)
        ):
            continue
        for token in _TOKEN.findall(line):
            if token == "{":
                # one that ends on this line is gone already
                comment = at
                break
            if token == ";":
                break
            if token == "(":
                variations.append(at)
            elif token == ")":
                if not variations:
                    raise _stray(path, at, number, token, line)
                variations.pop()
            elif token == "}":
                raise _stray(path, at, number, token, line)
            elif variations or token[0] == "$":
                continue
            elif token in _RESULTS:
                if game is None:
                    number += 1
                    game = _GameText(number, at)
                game.has_result = True
                yield game
                game = None
                in_moves = False
            else:
                if game is None:
                    number += 1
                    game = _GameText(number, at)
                in_moves = True
                if len(game.moves) < wanted and (san := san_of(token)):
                    if san in NULL_MOVES:
                        raise OpeningsError(
                            path,
                            at,
                            f"game {number}: an engine cannot make a null move: {shown(san)}",
                        )
                    game.moves.append((san, at))
    if comment is not None or variations:
        what, where = ("comment", comment) if comment is not None else ("variation", variations[-1])
        raise OpeningsError(path, where, f"game {number}: a {what} begins here and does not end")
    if game is not None:
        yield game


def _stray(path: str, at: int, number: int, token: str, line: str) -> OpeningsError:
    return OpeningsError(path, at, f"game {number}: {token} closes nothing: {shown(line, QUOTED)}")
