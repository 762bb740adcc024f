"""Test positions for UCI and USI engines, and the words in which the two protocols differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ringmaster.engines.engine import Limits
from ringmaster.engines.uci import uci_go_command, usi_go_command
from ringmaster.games.game import Game, new_game
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import Player


class CheckPosition(NamedTuple):
    """A position in which an engine must have a move.

    arguments  of the `position` command
    sign       the sign of any score from the mover's view; 0: unknown
    mate       the shortest mate, for (> 0) or against the mover, in the protocol's unit
    """

    name: str
    arguments: str
    sign: int = 0
    mate: int = 0

    def game(self, settings: GameSettings) -> Game:
        """Return the game, with its moves played."""
        start, _, moves = self.arguments.partition(" moves ")
        game = new_game(settings, start.partition(" ")[2] or None)
        for move in moves.split():
            game.play(move)
        return game


def _read(word: str, table: str) -> tuple[CheckPosition, ...]:
    """Read lines "name: position", "name: position: sign" or "name: position: sign: mate"."""
    positions = []
    for line in table.strip().splitlines():
        name, place, *numbers = line.split(": ")
        arguments = place if place.startswith("startpos") else f"{word} {place}"
        positions.append(CheckPosition(name, arguments, *map(int, numbers)))
    return tuple(positions)


# After "castling rights lost" the king stands on e1 again.  In the forbidden en passant capture,
# d5xc6 would open the rank to the rook on h5.  White mates in two by 1.Ra7.
CHESS = _read(
    "fen",
    """
the start position: startpos
an opening: startpos moves e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 a7a6
a middlegame: r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2QK2R w KQ - 4 8
a middlegame as Black: r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2Q1RK1 b - - 5 8
a pawn ending: 8/5pk1/4p1p1/3pP2p/3P1P1P/4K1P1/8/8 w - - 0 40
a rook ending as Black: 8/5pk1/R5p1/7p/5r1P/5PK1/6P1/8 b - - 3 45
castling to both sides: r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R w KQkq - 6 8
castling rights lost: r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R w KQkq - 6 8 \
moves e1e2 e8e7 e2e1 e7e8
an en passant capture: startpos moves e2e4 a7a6 e4e5 d7d5
an en passant capture that is forbidden: 8/2p5/8/K2P3r/8/8/8/7k b - - 0 1 moves c7c5
a promotion: 8/P5k1/8/8/8/8/1p4K1/8 w - - 0 60
a promotion as Black: 8/P5k1/8/8/8/8/1p4K1/8 b - - 0 60
a king in check: rnb1kbnr/pppp1ppp/8/4p3/4PP1q/8/PPPP2PP/RNBQKBNR w KQkq - 1 3
a king in double check: 4k3/8/8/8/7b/8/4r3/R3K2R w - - 0 30
a single legal move: k7/8/K7/8/8/8/8/2R5 b - - 8 70
stalemate around the corner: 7k/8/5K2/8/8/8/8/6Q1 w - - 0 60
a count of 98 towards the draw by 50 moves: 8/8/4k3/8/8/3RK3/8/8 w - - 98 120
a position that has occurred twice: startpos moves g1f3 g8f6 f3g1 f6g8
218 legal moves: R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1
White a queen up: rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1: 1
Black a queen down: rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1: -1
Black a queen up: rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR b KQkq - 0 1: 1
White a queen down: rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1: -1
White mates in one: 6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 30: 1: 1
Black mates in one: r5k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 30: 1: 1
White mates in two: 7k/8/8/8/8/1R6/R7/6K1 w - - 0 60: 1: 2
White is mated in one: 7k/R7/1R6/8/8/8/8/6K1 b - - 0 60: -1: -1
""",
)

# All pieces are on the board or in a hand: some engines rely on it.  A pawn dropped on 1b would
# be mate.  In the last position White can only push its pawn, and Black mates on 1b.
SHOGI = _read(
    "sfen",
    """
the start position: startpos
an opening: startpos moves 7g7f 3c3d 2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 2e2d 2c2d 2h2d
a middlegame: lnsgk2nl/1r4gs1/p1pppp1pp/1p4p2/7P1/2P6/PPSPPPP1P/7R1/LN1GKGSNL b Bb 1
a middlegame as White: lnsgk2nl/1r4gs1/p1pppp1pp/1p4p2/7P1/2P6/PPSPPPP1P/7R1/LN1GKGSNL w Bb 2
an exchange of bishops: startpos moves 7g7f 3c3d 8h2b+
pieces in both hands: 4k4/4g4/p3p3p/9/2P6/9/P3P3P/4G4/4K4 b RBG2S2N2L5Prbg2s2n2l6p 1
a pawn that may not be dropped to mate: 7nk/9/7G1/9/9/9/9/9/4K4 b P2r2b3g4s3n4l17p 1
pawns on all files but one: 4k4/9/9/9/9/9/PPPP1PPPP/9/4K4 b P2r2b4g4s4n4l9p 1
a forced promotion: 4k4/P8/1N7/9/9/9/9/9/4K4 b 2r2b4g4s3n4l17p 1
a forced promotion as White: 4k4/9/9/9/9/9/1n7/p8/4K4 w 2R2B4G4S3N4L17P 1
a king in check: lnsgkgsnl/1r5b1/pppp1pppp/9/9/4r4/PPPP1PPPP/1B7/LNSGKGSNL b Pp 1
a king in double check: 4k4/9/9/9/9/9/3nr4/9/4K4 b R2B4G4S3N4L18P 1
593 legal moves: R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1
a position that has occurred twice: startpos moves 4i4h 6a6b 4h4i 6b6a
Black two pieces up: lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b RB 1: 1
White two pieces down: lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w RB 1: -1
White two pieces up: lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/9/LNSGKGSNL w rb 1: 1
Black two pieces down: lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/9/LNSGKGSNL b rb 1: -1
Black mates at once: 4k4/9/4P4/9/9/9/9/9/4K4 b G2r2b3g4s4n4l17p 1: 1: 1
White mates at once: 4k4/9/9/9/9/9/4p4/9/4K4 w 2R2B3G4S4N4L17Pg 1: 1: 1
Black mates in three plies: 5k3/9/4L4/4+R4/9/9/9/9/4K4 b GSr2b3g3s4n3l18p 1: 1: 3
White is mated in two plies: 8k/6G2/8P/9/p8/9/9/9/4K4 w 2R2B3G4S4N4L16P 1: -1: -2
""",
)


def _long_game(tour: str, pushes: str) -> CheckPosition:
    """Return a game without a draw: pieces go out and home twice before each push of a pawn."""
    steps, moves = tour.split(), list[str]()
    for number, push in enumerate(pushes.split()):
        # after an odd number of pushes, the second side begins the tour
        moves += [steps[i ^ (number % 2)] for i in range(len(steps))] * 2 + [push]
    return CheckPosition(f"a game of {len(moves)} plies", f"startpos moves {' '.join(moves)}")


@dataclass(frozen=True)
class Dialect:
    """A protocol of the UCI family."""

    name: str
    go_command: Callable[..., bytes]
    sides: tuple[str, str]  # in move order
    options: tuple[str, ...]  # that users rely on, the size of the hash table first
    extra_words: tuple[str, ...]  # allowed in place of a move (resignation, claim)
    pv_words: tuple[str, ...]  # allowed at the end of a line of play
    positions: tuple[CheckPosition, ...]
    middlegame: CheckPosition  # for longer searches, the first side to move
    reply: CheckPosition  # the same, the second side to move
    long_game: CheckPosition  # after hundreds of moves

    def go(self, first: int, second: int, increment: int = 0, byoyomi: int = 0) -> str:
        """Return a `go` command with the clocks in move order, in ms."""
        limits = Limits(0, (first, second), (increment, increment), byoyomi)
        return self.go_command(limits).decode().strip()


#: YaneuraOu ends a line of play with the kind of a repetition that decides it.
REPETITIONS = ("draw", "win", "lose", "sup", "inf")

UCI = Dialect(
    name="UCI",
    go_command=uci_go_command,
    sides=("White", "Black"),
    options=("Hash", "Threads"),
    extra_words=(),
    pv_words=(),
    positions=CHESS,
    middlegame=CHESS[2],
    reply=CHESS[3],
    long_game=_long_game(
        "g1f3 g8f6 b1c3 b8c6 f3g1 f6g8 c3b1 c6b8",
        "b2b3 b7b6 g2g3 g7g6 d2d3 d7d6 e2e3 e7e6 b3b4 b6b5 g3g4 g6g5 a2a3 a7a6 h2h3 h7h6",
    ),
)

USI = Dialect(
    name="USI",
    go_command=usi_go_command,
    sides=("Black", "White"),
    # a host may set USI_Hash without a declaration
    options=("USI_Hash",),
    extra_words=("resign", "win"),
    pv_words=("resign", "win", "none", "(none)", *(f"rep_{x}" for x in REPETITIONS)),
    positions=SHOGI,
    middlegame=SHOGI[2],
    reply=SHOGI[3],
    long_game=_long_game(
        "4i4h 6a6b 6i6h 4a4b 4h4i 6b6a 6h6i 4b4a",
        " ".join(f"{file}g{file}f {file}c{file}d" for file in "192837465"),
    ),
)


def dialect_of(player: Player, settings: GameSettings) -> Dialect:
    """Return the words and positions for a player's game.

    Chess960 has the positions of chess.  Other variants have the start position only.
    """
    if player.protocol == "usi":
        return USI
    if settings.variant in ("standard", "chess960"):
        return UCI
    start = CHESS[0]
    return dataclasses.replace(
        UCI, positions=(start,), middlegame=start, reply=start, long_game=start
    )
