"""The chess positions that UCI engines are tested on, and UCI's words."""

from __future__ import annotations

import dataclasses

from ringmaster.games.chess import new_chess_game
from ringmaster.games.start import beginning
from ringmaster.play.compliance.dialects import Dialect, Probe, moves_of

MIDDLEGAME = Probe(
    "a middlegame", "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2QK2R w KQ - 4 8"
)
#: Black to move, so the clock that counts is the second one.
REPLY = Probe(
    "a middlegame, Black to move",
    "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2Q1RK1 b - - 5 8",
)


def _long_game() -> tuple[str, ...]:
    """Return a game of 272 plies that breaks no rule, reaches no draw, and ends in a
    quiet position: before each push of a pawn the knights go out and home twice."""
    inner = moves_of("g1f3 g8f6 b1c3 b8c6 f3g1 f6g8 c3b1 c6b8")
    # while pawns stand on the squares of those
    outer = moves_of("g1h3 g8h6 b1a3 b8a6 h3g1 h6g8 a3b1 a6b8")
    pushes = "b2b3 b7b6 g2g3 g7g6 d2d3 d7d6 e2e3 e7e6 b3b4 b6b5 g3g4 g6g5 c2c3 c7c6 f2f3 f7f6"
    moves: list[str] = []
    for push in moves_of(pushes):
        tour = outer if "c2c3" in moves else inner
        if push[1] > "4":
            # Black begins
            tour = tuple(tour[i ^ 1] for i in range(len(tour)))
        moves += [*tour, *tour, push]
    return tuple(moves)


LONG_GAME = Probe("a game of 272 plies", moves=_long_game())

PROBES = (
    Probe("the start position"),
    Probe("an opening", moves=moves_of("e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 a7a6")),
    MIDDLEGAME,
    REPLY,
    Probe("a pawn ending", "8/5pk1/4p1p1/3pP2p/3P1P1P/4K1P1/8/8 w - - 0 40"),
    Probe("a rook ending, Black to move", "8/5pk1/R5p1/7p/5r1P/5PK1/6P1/8 b - - 3 45"),
    Probe(
        "castling to both sides",
        "r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R w KQkq - 6 8",
    ),
    # the king has been away: it stands on e1 and may not castle
    Probe(
        "castling rights that are lost",
        "r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R w KQkq - 6 8",
        ("e1e2", "e8e7", "e2e1", "e7e8"),
    ),
    Probe("an en passant capture", moves=moves_of("e2e4 a7a6 e4e5 d7d5")),
    # taking d5xc6 would open the rank to the rook on h5
    Probe(
        "an en passant capture that is forbidden",
        "8/2p5/8/K2P3r/8/8/8/7k b - - 0 1",
        ("c7c5",),
    ),
    Probe("a promotion", "8/P5k1/8/8/8/8/1p4K1/8 w - - 0 60"),
    Probe("a promotion, Black to move", "8/P5k1/8/8/8/8/1p4K1/8 b - - 0 60"),
    Probe("a king in check", "rnb1kbnr/pppp1ppp/8/4p3/4PP1q/8/PPPP2PP/RNBQKBNR w KQkq - 1 3"),
    Probe("a king in double check", "4k3/8/8/8/7b/8/4r3/R3K2R w - - 0 30"),
    Probe("a single legal move", "k7/8/K7/8/8/8/8/2R5 b - - 8 70"),
    Probe("stalemate around the corner", "7k/8/5K2/8/8/8/8/6Q1 w - - 0 60"),
    Probe("a count of 98 towards the draw by 50 moves", "8/8/4k3/8/8/3RK3/8/8 w - - 98 120"),
    Probe("a position that has occurred twice", moves=moves_of("g1f3 g8f6 f3g1 f6g8")),
    Probe("218 legal moves", "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1"),
    Probe(
        "White a queen up, White to move",
        "rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        sign=1,
    ),
    Probe(
        "White a queen up, Black to move",
        "rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1",
        sign=-1,
    ),
    Probe(
        "Black a queen up, Black to move",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR b KQkq - 0 1",
        sign=1,
    ),
    Probe(
        "Black a queen up, White to move",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1",
        sign=-1,
    ),
    Probe("White mates in one", "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 30", sign=1, mate=1, plies=1),
    Probe("Black mates in one", "r5k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 30", sign=1, mate=1, plies=1),
    # two rooks and a bare king: 1.Ra7 and mate on the last rank, whatever comes
    Probe("White mates in two", "7k/8/8/8/8/1R6/R7/6K1 w - - 0 60", sign=1, mate=2, plies=3),
    Probe("White is mated in one", "7k/R7/1R6/8/8/8/8/6K1 b - - 0 60", sign=-1, mate=-1, plies=2),
)

UCI = Dialect(
    name="UCI",
    hello="uci",
    greeting="uciok",
    new_game="ucinewgame",
    start_word="fen",
    first="wtime",
    second="btime",
    increments=("winc", "binc"),
    no_increment="",
    extra_words=frozenset(),
    pv_words=frozenset(),
    sides=("White", "Black"),
    expected=("Hash", "Threads"),
    memory="Hash",
    ponder="Ponder",
    mate_unit="moves",
    new=new_chess_game,
    probes=PROBES,
    middlegame=MIDDLEGAME,
    reply=REPLY,
    long_game=LONG_GAME,
)


def of_variant(variant: str) -> Dialect:
    """Return UCI for a variant of chess.

    Chess960 has the same positions, with castling written as king takes rook.  Of
    other variants only the start position is known, and what follows from it.
    """
    new = beginning("chess", variant=variant)
    if variant == "chess960":
        return dataclasses.replace(UCI, new=new)
    start = PROBES[0]
    return dataclasses.replace(
        UCI, new=new, probes=(start,), middlegame=start, reply=start, long_game=start
    )
