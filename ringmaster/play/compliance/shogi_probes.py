"""The shogi positions that USI engines are tested on, and USI's words."""

from __future__ import annotations

from ringmaster.games.shogi import new_shogi_game
from ringmaster.play.compliance.dialects import Dialect, Probe, moves_of

#: Bishops have been exchanged, each side has one in hand.
_EXCHANGED = "lnsgk2nl/1r4gs1/p1pppp1pp/1p4p2/7P1/2P6/PPSPPPP1P/7R1/LN1GKGSNL"
MIDDLEGAME = Probe("a middlegame with bishops in hand", f"{_EXCHANGED} b Bb 1")
#: The second side to move, so the clock that counts is the other one.
REPLY = Probe("a middlegame, White to move", f"{_EXCHANGED} w Bb 2")


def _long_game() -> tuple[str, ...]:
    """Return a game of 306 plies that breaks no rule and reaches no repetition:
    before each push of a pawn the golds go out and home twice."""
    tour = moves_of("4i4h 6a6b 6i6h 4a4b 4h4i 6b6a 6h6i 4b4a")
    # White begins
    answer = tuple(tour[i ^ 1] for i in range(len(tour)))
    moves: list[str] = []
    for file in "192837465":
        moves += [*tour, *tour, f"{file}g{file}f", *answer, *answer, f"{file}c{file}d"]
    return tuple(moves)


LONG_GAME = Probe("a game of 306 plies", moves=_long_game())

#: All pieces are on the board or in a hand: some engines count on it.
PROBES = (
    Probe("the start position"),
    Probe("an opening", moves=moves_of("7g7f 3c3d 2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 2e2d 2c2d 2h2d")),
    MIDDLEGAME,
    REPLY,
    Probe("an exchange of bishops", moves=moves_of("7g7f 3c3d 8h2b+")),
    Probe("pieces in both hands", "4k4/4g4/p3p3p/9/2P6/9/P3P3P/4G4/4K4 b RBG2S2N2L5Prbg2s2n2l6p 1"),
    # P*1b would be mate
    Probe("a pawn that may not be dropped to mate", "7nk/9/7G1/9/9/9/9/9/4K4 b P2r2b3g4s3n4l17p 1"),
    Probe("pawns on all files but one", "4k4/9/9/9/9/9/PPPP1PPPP/9/4K4 b P2r2b4g4s4n4l9p 1"),
    Probe("a forced promotion", "4k4/P8/1N7/9/9/9/9/9/4K4 b 2r2b4g4s3n4l17p 1"),
    Probe("a forced promotion, White to move", "4k4/9/9/9/9/9/1n7/p8/4K4 w 2R2B4G4S3N4L17P 1"),
    Probe("a king in check", "lnsgkgsnl/1r5b1/pppp1pppp/9/9/4r4/PPPP1PPPP/1B7/LNSGKGSNL b Pp 1"),
    Probe("a king in double check", "4k4/9/9/9/9/9/3nr4/9/4K4 b R2B4G4S3N4L18P 1"),
    Probe("593 legal moves", "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"),
    Probe("a position that has occurred twice", moves=moves_of("4i4h 6a6b 4h4i 6b6a")),
    Probe(
        "Black a rook and a bishop up, Black to move",
        "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b RB 1",
        sign=1,
    ),
    Probe(
        "Black a rook and a bishop up, White to move",
        "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w RB 1",
        sign=-1,
    ),
    Probe(
        "White a rook and a bishop up, White to move",
        "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/9/LNSGKGSNL w rb 1",
        sign=1,
    ),
    Probe(
        "White a rook and a bishop up, Black to move",
        "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/9/LNSGKGSNL b rb 1",
        sign=-1,
    ),
    Probe(
        "Black mates at once",
        "4k4/9/4P4/9/9/9/9/9/4K4 b G2r2b3g4s4n4l17p 1",
        sign=1,
        mate=1,
        plies=1,
    ),
    Probe(
        "White mates at once",
        "4k4/9/9/9/9/9/4p4/9/4K4 w 2R2B3G4S4N4L17Pg 1",
        sign=1,
        mate=1,
        plies=1,
    ),
    Probe(
        "Black mates in three plies",
        "5k3/9/4L4/4+R4/9/9/9/9/4K4 b GSr2b3g3s4n3l18p 1",
        sign=1,
        mate=3,
        plies=3,
    ),
    # White can only push its pawn, and Black mates on 1b
    Probe(
        "White is mated in two plies",
        "8k/6G2/8P/9/p8/9/9/9/4K4 w 2R2B3G4S4N4L16P 1",
        sign=-1,
        mate=-2,
        plies=2,
    ),
)

USI = Dialect(
    name="USI",
    hello="usi",
    greeting="usiok",
    new_game="usinewgame",
    start_word="sfen",
    first="btime",
    second="wtime",
    increments=("binc", "winc"),
    # some engines take a `go` without it for a search without end
    no_increment=" byoyomi 0",
    extra_words=frozenset({"resign", "win"}),
    # YaneuraOu ends a line so where a repetition decides it
    pv_words=frozenset(
        {"resign", "win", "rep_draw", "rep_win", "rep_lose", "rep_sup", "rep_inf", "none", "(none)"}
    ),
    sides=("Black", "White"),
    # a host may set them whether they are declared or not
    expected=("USI_Hash",),
    memory="USI_Hash",
    ponder="USI_Ponder",
    mate_unit="plies",
    new=new_shogi_game,
    probes=PROBES,
    middlegame=MIDDLEGAME,
    reply=REPLY,
    long_game=LONG_GAME,
)
