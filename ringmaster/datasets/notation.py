"""How positions are written in a game: FEN in chess and its variants, SFEN in shogi."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from ringmaster.datasets.source import Source
from ringmaster.games.start import beginning
from ringmaster.model.players import GameName

_CHESS = (
    rb"([1-8KQRBNPkqrbnp/]{15,90} ([wb]) (?:-|[KQkqA-Ha-h]{1,4}) (?:-|[a-h][1-8])"
    rb"(?: [0-9]{1,5} ([0-9]{1,5}))?)"
)
_VARIANT = (
    rb"([0-9A-Za-z+*~/\[\]-]{5,300} ([wb]) [A-Za-z-]{1,20} [a-z0-9-]{1,4}(?: [0-9]\+[0-9])?"
    rb"(?: [0-9]{1,5} ([0-9]{1,5}))?(?: \+[0-9]\+[0-9])?)"
)
_SHOGI = (
    rb"(?:sfen )?([1-9+PLNSBRGKplnsbrgk/]{17,120}"
    rb" ([bw]) (?:-|(?:(?:[1-9][0-9]?)?[PLNSGBRplnsgbr]){1,14})"
    rb"(?: ([0-9]{1,4}))?)"
)


@dataclass(frozen=True)
class Notation:
    """A way to write positions.

    game      whose it is
    variant   of chess
    place     a pattern: the text, in it the letter of the side and the move number
    counters  what is added to a text without a move number
    second    the letter of the side that does not move first
    scale     plies a move number stands for
    shift     what is taken off the plies, so that the first has 0
    """

    game: GameName
    variant: str
    place: bytes
    counters: bytes
    second: bytes
    scale: int
    shift: int

    @cached_property
    def line(self) -> re.Pattern[bytes]:
        """A line with a position at its beginning, and whatever follows."""
        return re.compile(self.place + rb'((?:[ ;,|"\[].*)?)')

    def wrong(self, line: bytes) -> str:
        """Return what is wrong with a line that does not begin with a position."""
        text = line.decode(errors="replace")
        other = other_game(line, self.game)
        if other:
            return f"this is a position of {other}, but the game is {self.game}"
        words = re.split(r"[|,;\[\"]", text)[0].split()
        if self.game == "shogi":
            words = words[1:] if words[:1] == ["sfen"] else words
            position = " ".join(words[:4] if words[3:4] and words[3].isdigit() else words[:3])
        else:
            counted = len(words) >= 6 and words[4].isdigit() and words[5].isdigit()
            position = " ".join(words[:6] if counted else [*words[:4], "0", "1"])
        try:
            beginning(self.game, variant=self.variant)(position)
        except ValueError as error:
            return str(error)
        return f"this does not begin with {'an SFEN' if self.game == 'shogi' else 'a FEN'}"


def other_game(line: bytes, game: GameName) -> str:
    """Return the game that the position at the beginning of a line is of, "" when
    it may be `game`."""
    board = line.removeprefix(b"sfen ").split(b" ", 1)[0]
    if game == "chess" and (line.startswith(b"sfen ") or _SHOGI_BOARD.fullmatch(board)):
        return "shogi"
    if game == "shogi" and _CHESS_BOARD.fullmatch(board):
        return "chess"
    return ""


_SHOGI_BOARD = re.compile(rb"(?:[1-9+PLNSBRGKplnsbrgk]+/){8}[1-9+PLNSBRGKplnsbrgk]+")
_CHESS_BOARD = re.compile(rb"(?:[1-8KQRBNPkqrbnp]+/){7}[1-8KQRBNPkqrbnp]+")

_NOTATIONS = {
    "shogi": Notation("shogi", "standard", _SHOGI, b" 1", b"w", 1, 1),
    "chess": Notation("chess", "standard", _CHESS, b" 0 1", b"b", 2, 2),
}


def notation_of(source: Source) -> Notation:
    """Return how the positions of a file are written."""
    if source.game == "chess" and source.variant not in ("standard", "chess960"):
        return Notation("chess", source.variant, _VARIANT, b" 0 1", b"b", 2, 2)
    return _NOTATIONS[source.game]
