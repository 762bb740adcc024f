"""A recorded game of any format: moves, scores, result, and the positions of its replay."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from ringmaster.formats.source import MATE, Record, Source
from ringmaster.games.game import Begin, beginning, plies_before
from ringmaster.model.players import GameName


@dataclass(slots=True)
class RecordedGame:
    """One game of a file.

    number      place in the file, from 1
    line        first line, from 1
    id          the game's id or name, "" unknown
    start       FEN or SFEN, None for the usual position
    moves       legal moves in the protocol's notation
    scores      for each move centipawns of the position *before* it, NaN unknown, from the
                side that moves first in a game
    book        number of opening moves
    result      0, 0.5 or 1 from the same side, NaN unfinished
    is_forfeit  whether a side lost by a fault or on time
    opening     name of the opening, "" unknown
    first       index of the side that moves first from the start position
    size, komi, setup  of Go: lines, points, vertices of handicap stones

    Fields for boards, where the source requests them:

    comments       on moves, "" for none
    clocks         seconds left after moves, by the index of the move
    variant        of chess, by its tag
    date           "YYYY-MM-DD", "" unknown
    time_controls  of both players in words
    """

    number: int
    line: int
    id: str = ""
    start: str | None = None
    moves: list[str] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    book: int = 0
    result: float = math.nan
    is_forfeit: bool = False
    opening: str = ""
    first: int = 0
    size: int = 0
    komi: float = 0.0
    setup: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    clocks: dict[int, float] = field(default_factory=dict)
    variant: str = "standard"
    date: str = ""
    time_controls: tuple[str, ...] = ()

    @property
    def is_finished(self) -> bool:
        """Return whether the record has a result."""
        return not math.isnan(self.result)


#: Results from the side that moves first.
RESULTS = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5, "1/2": 0.5, "½-½": 0.5}


def limited(score: float) -> float:
    """Return centipawns within ±MATE, which stands for all mates."""
    return score if -MATE <= score <= MATE else math.copysign(MATE, score)


@dataclass(frozen=True)
class Replay:
    """The positions of a game, by ply from the start of the record.

    before  plies before the start of the record
    texts   FEN or SFEN before each move, and after the last
    sides   side to move, 0 the side that moves first in a game
    checks  whether the side to move is in check
    noisy   whether the move is a capture or a promotion
    """

    game: RecordedGame
    before: int
    texts: list[str]
    sides: list[int]
    checks: list[bool]
    noisy: list[bool]

    def __len__(self) -> int:
        return len(self.noisy)


def replay(game: RecordedGame, name: GameName, begin: Begin) -> Replay:
    """Replay a record.  Raises IllegalMove, or ValueError for the start position."""
    position = begin(game.start)
    texts, sides, checks = [position.position()], [position.to_move], [position.in_check()]
    noisy = []
    before = _count_pieces(texts[0])
    for move in game.moves:
        position.play(move)
        text = position.position()
        after = _count_pieces(text)
        promotes = move[-1] == "+" if name == "shogi" else len(move) > 4 and move[-1].isalpha()
        noisy.append(after < before or promotes)
        before = after
        texts.append(text)
        sides.append(position.to_move)
        checks.append(position.in_check())
    return Replay(game, plies_before(name, game.start), texts, sides, checks, noisy)


_NOT_PIECES = bytes(c for c in range(128) if not chr(c).isalpha())


def _count_pieces(text: str) -> int:
    """Return the number of pieces on the board of a FEN or an SFEN."""
    board = text[: text.index(" ")].partition("[")[0]
    return len(board.encode().translate(None, _NOT_PIECES))


def positions_of(
    source: Source, games: Iterator[RecordedGame], mover: bool = False
) -> Iterator[Record]:
    """Yield the positions of finished games without a forfeit.

    Scores are the mover's where `mover` is true, else the first player's.  Results are the
    first player's.
    """
    begin = beginning(source.game, variant=source.variant)
    for game in games:
        if not game.is_finished:
            source.counts["unfinished games"] += 1
            continue
        if game.is_forfeit:
            source.counts["games lost by a fault or on time"] += 1
            continue
        position = begin(game.start)
        before = plies_before(source.game, game.start)
        length = before + len(game.moves)
        name = str(game.number)
        for ply, (move, score) in enumerate(zip(game.moves, game.scores, strict=True), before):
            text = position.position().encode()
            if mover and position.to_move:
                score = -score
            yield Record(text, game.result, score, ply, game.line, name, length, move)
            position.play(move)
