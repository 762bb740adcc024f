"""Test positions for UCI and USI engines, and the words in which the two protocols differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ringmaster.games.game import Game, beginning
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import Player


class CheckPosition(NamedTuple):
    """A position in which an engine must have a move.

    name       for messages
    arguments  of the `position` command
    sign       the sign of any score from the mover's view; 0: unknown
    mate       the shortest mate, for (> 0) or against the mover, in the protocol's unit
    """

    name: str
    arguments: str
    sign: int = 0
    mate: int = 0

    @property
    def command(self) -> str:
        """The `position` command."""
        return f"position {self.arguments}"


def _read(table: str) -> tuple[CheckPosition, ...]:
    """Read lines "name: arguments", some with ": ahead", ": behind" or ": mate N"."""
    positions = []
    for line in table.strip().splitlines():
        name, arguments, *expected = line.split(": ")
        words = expected[0].split() if expected else []
        mate = int(words[1]) if words[:1] == ["mate"] else 0
        sign = {"ahead": 1, "behind": -1}.get("".join(words), (mate > 0) - (mate < 0))
        positions.append(CheckPosition(name, arguments, sign, mate))
    return tuple(positions)


# After "castling rights lost" the king stands on e1 again.  In the forbidden en passant capture,
# d5xc6 would open the rank to the rook on h5.  White mates in two by 1.Ra7.
CHESS = _read(
    """
the start position: startpos
an opening: startpos moves e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 a7a6
a middlegame: fen r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2QK2R w KQ - 4 8
a middlegame, Black to move: \
fen r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2Q1RK1 b - - 5 8
a pawn ending: fen 8/5pk1/4p1p1/3pP2p/3P1P1P/4K1P1/8/8 w - - 0 40
a rook ending, Black to move: fen 8/5pk1/R5p1/7p/5r1P/5PK1/6P1/8 b - - 3 45
castling to both sides: fen r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R w KQkq - 6 8
castling rights lost: fen r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R w KQkq - 6 8 \
moves e1e2 e8e7 e2e1 e7e8
an en passant capture: startpos moves e2e4 a7a6 e4e5 d7d5
an en passant capture that is forbidden: fen 8/2p5/8/K2P3r/8/8/8/7k b - - 0 1 moves c7c5
a promotion: fen 8/P5k1/8/8/8/8/1p4K1/8 w - - 0 60
a promotion, Black to move: fen 8/P5k1/8/8/8/8/1p4K1/8 b - - 0 60
a king in check: fen rnb1kbnr/pppp1ppp/8/4p3/4PP1q/8/PPPP2PP/RNBQKBNR w KQkq - 1 3
a king in double check: fen 4k3/8/8/8/7b/8/4r3/R3K2R w - - 0 30
a single legal move: fen k7/8/K7/8/8/8/8/2R5 b - - 8 70
stalemate around the corner: fen 7k/8/5K2/8/8/8/8/6Q1 w - - 0 60
a count of 98 towards the draw by 50 moves: fen 8/8/4k3/8/8/3RK3/8/8 w - - 98 120
a position that has occurred twice: startpos moves g1f3 g8f6 f3g1 f6g8
218 legal moves: fen R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1
White a queen up, White to move: fen rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1: ahead
White a queen up, Black to move: \
fen rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1: behind
Black a queen up, Black to move: fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR b KQkq - 0 1: ahead
Black a queen up, White to move: \
fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1: behind
White mates in one: fen 6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 30: mate 1
Black mates in one: fen r5k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 30: mate 1
White mates in two: fen 7k/8/8/8/8/1R6/R7/6K1 w - - 0 60: mate 2
White is mated in one: fen 7k/R7/1R6/8/8/8/8/6K1 b - - 0 60: mate -1
"""
)

# All pieces are on the board or in a hand: some engines rely on it.  A pawn dropped on 1b would
# be mate.  In the last position White can only push its pawn, and Black mates on 1b.
SHOGI = _read(
    """
the start position: startpos
an opening: startpos moves 7g7f 3c3d 2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 2e2d 2c2d 2h2d
a middlegame with bishops in hand: \
sfen lnsgk2nl/1r4gs1/p1pppp1pp/1p4p2/7P1/2P6/PPSPPPP1P/7R1/LN1GKGSNL b Bb 1
a middlegame, White to move: \
sfen lnsgk2nl/1r4gs1/p1pppp1pp/1p4p2/7P1/2P6/PPSPPPP1P/7R1/LN1GKGSNL w Bb 2
an exchange of bishops: startpos moves 7g7f 3c3d 8h2b+
pieces in both hands: sfen 4k4/4g4/p3p3p/9/2P6/9/P3P3P/4G4/4K4 b RBG2S2N2L5Prbg2s2n2l6p 1
a pawn that may not be dropped to mate: sfen 7nk/9/7G1/9/9/9/9/9/4K4 b P2r2b3g4s3n4l17p 1
pawns on all files but one: sfen 4k4/9/9/9/9/9/PPPP1PPPP/9/4K4 b P2r2b4g4s4n4l9p 1
a forced promotion: sfen 4k4/P8/1N7/9/9/9/9/9/4K4 b 2r2b4g4s3n4l17p 1
a forced promotion, White to move: sfen 4k4/9/9/9/9/9/1n7/p8/4K4 w 2R2B4G4S3N4L17P 1
a king in check: sfen lnsgkgsnl/1r5b1/pppp1pppp/9/9/4r4/PPPP1PPPP/1B7/LNSGKGSNL b Pp 1
a king in double check: sfen 4k4/9/9/9/9/9/3nr4/9/4K4 b R2B4G4S3N4L18P 1
593 legal moves: sfen R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1
a position that has occurred twice: startpos moves 4i4h 6a6b 4h4i 6b6a
Black a rook and a bishop up, Black to move: \
sfen lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b RB 1: ahead
Black a rook and a bishop up, White to move: \
sfen lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w RB 1: behind
White a rook and a bishop up, White to move: \
sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/9/LNSGKGSNL w rb 1: ahead
White a rook and a bishop up, Black to move: \
sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/9/LNSGKGSNL b rb 1: behind
Black mates at once: sfen 4k4/9/4P4/9/9/9/9/9/4K4 b G2r2b3g4s4n4l17p 1: mate 1
White mates at once: sfen 4k4/9/9/9/9/9/4p4/9/4K4 w 2R2B3G4S4N4L17Pg 1: mate 1
Black mates in three plies: sfen 5k3/9/4L4/4+R4/9/9/9/9/4K4 b GSr2b3g3s4n3l18p 1: mate 3
White is mated in two plies: sfen 8k/6G2/8P/9/p8/9/9/9/4K4 w 2R2B3G4S4N4L16P 1: mate -2
"""
)


def _long_chess_game() -> CheckPosition:
    """Return a game that ends in a quiet position without a draw.

    Before each push of a pawn, the knights go out and home twice.
    """
    inner = ["g1f3", "g8f6", "b1c3", "b8c6", "f3g1", "f6g8", "c3b1", "c6b8"]
    # after c2c3 and c7c6, pawns stand on the squares of the inner tour
    outer = ["g1h3", "g8h6", "b1a3", "b8a6", "h3g1", "h6g8", "a3b1", "a6b8"]
    pushes = "b2b3 b7b6 g2g3 g7g6 d2d3 d7d6 e2e3 e7e6 b3b4 b6b5 g3g4 g6g5 c2c3 c7c6 f2f3 f7f6"
    moves: list[str] = []
    for push in pushes.split():
        tour = outer if "c2c3" in moves else inner
        moves += [*_tour(tour, black_first=push[1] > "4") * 2, push]
    return CheckPosition(f"a game of {len(moves)} plies", f"startpos moves {' '.join(moves)}")


def _long_shogi_game() -> CheckPosition:
    """Return a game without a repetition: before each push, the golds go out and home twice."""
    tour = ["4i4h", "6a6b", "6i6h", "4a4b", "4h4i", "6b6a", "6h6i", "4b4a"]
    moves: list[str] = []
    for file in "192837465":
        moves += [*tour * 2, f"{file}g{file}f", *_tour(tour, black_first=True) * 2]
        moves.append(f"{file}c{file}d")
    return CheckPosition(f"a game of {len(moves)} plies", f"startpos moves {' '.join(moves)}")


def _tour(moves: list[str], *, black_first: bool) -> list[str]:
    """Return moves of both sides; `black_first` exchanges the moves of each pair."""
    return [moves[i ^ black_first] for i in range(len(moves))]


@dataclass(frozen=True)
class Dialect:
    """A protocol of the UCI family.

    greeting       the end of the handshake
    new_game       the command before a game
    clock          a `go` command for the clocks of both sides, in move order
    increment      the words for an increment
    no_increment   the words for no increment
    extra_words    allowed in place of a move (resignation, claim)
    pv_words       allowed at the end of a line of play
    sides          in move order
    expected       options that users rely on
    memory         the option for the size of the hash table
    mate_unit      "moves" or "plies"
    begin          begins a game from a FEN or SFEN; None: from the start position
    positions      the start position first
    middlegame     a position for longer searches, the first side to move
    reply          a position for longer searches, the second side to move
    long_game      a position after hundreds of moves
    """

    name: str
    greeting: str
    new_game: str
    clock: str
    increment: str
    no_increment: str
    extra_words: frozenset[str]
    pv_words: frozenset[str]
    sides: tuple[str, str]
    expected: tuple[str, ...]
    memory: str
    mate_unit: str
    begin: Callable[[str | None], Game]
    positions: tuple[CheckPosition, ...]
    middlegame: CheckPosition
    reply: CheckPosition
    long_game: CheckPosition

    def game(self, position: CheckPosition) -> Game:
        """Return the game of a position, with its moves played."""
        start, _, moves = position.arguments.partition(" moves ")
        game = self.begin(start.partition(" ")[2] or None)
        for move in moves.split():
            game.play(move)
        return game

    def go(self, first: int, second: int, increment: int = 0) -> str:
        """Return a `go` command with the clocks in move order, in ms."""
        words = self.increment if increment else self.no_increment
        return (self.clock + words).format(first, second, increment)


# YaneuraOu ends a line of play with one of these words where a repetition decides it.
_REPETITIONS = ("rep_draw", "rep_win", "rep_lose", "rep_sup", "rep_inf")

UCI = Dialect(
    name="UCI",
    greeting="uciok",
    new_game="ucinewgame",
    clock="go wtime {0} btime {1}",
    increment=" winc {2} binc {2}",
    no_increment="",
    extra_words=frozenset(),
    pv_words=frozenset(),
    sides=("White", "Black"),
    expected=("Hash", "Threads"),
    memory="Hash",
    mate_unit="moves",
    begin=beginning("chess"),
    positions=CHESS,
    middlegame=CHESS[2],
    reply=CHESS[3],
    long_game=_long_chess_game(),
)


def usi() -> Dialect:
    """Return USI; this imports the rules of shogi."""
    return Dialect(
        name="USI",
        greeting="usiok",
        new_game="usinewgame",
        clock="go btime {0} wtime {1}",
        increment=" binc {2} winc {2}",
        # without byoyomi, some engines search until `stop`
        no_increment=" byoyomi 0",
        extra_words=frozenset({"resign", "win"}),
        pv_words=frozenset({"resign", "win", *_REPETITIONS, "none", "(none)"}),
        sides=("Black", "White"),
        # a host may set USI_Hash without a declaration
        expected=("USI_Hash",),
        memory="USI_Hash",
        mate_unit="plies",
        begin=beginning("shogi"),
        positions=SHOGI,
        middlegame=SHOGI[2],
        reply=SHOGI[3],
        long_game=_long_shogi_game(),
    )


def dialect_of(player: Player, settings: GameSettings) -> Dialect:
    """Return the words and positions for a player's game.

    Chess960 has the positions of chess.  Other variants have the start position only.
    """
    if player.protocol == "usi":
        return usi()
    if player.protocol != "uci" or settings.variant == "standard":
        return UCI
    variant = dataclasses.replace(UCI, begin=beginning("chess", variant=settings.variant))
    if settings.variant == "chess960":
        return variant
    start = CHESS[0]
    return dataclasses.replace(
        variant, positions=(start,), middlegame=start, reply=start, long_game=start
    )
