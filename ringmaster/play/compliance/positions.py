"""Test positions of engines."""

from __future__ import annotations

from typing import NamedTuple

from ringmaster.games.game import Game, game_rules
from ringmaster.model.jobs import GameSettings, Opening


class CheckPosition(NamedTuple):
    """A position in which an engine must have a move."""

    name: str
    opening: Opening

    def game(self, settings: GameSettings) -> Game:
        """Return the game, with its moves played."""
        game = game_rules(settings)(self.opening.fen)
        for move in self.opening.moves:
            game.play(move)
        return game


def _read(table: str) -> tuple[CheckPosition, ...]:
    """Read lines "name: position moves …"; the usual start position is "startpos"."""
    positions = []
    for line in table.strip().splitlines():
        name, place = line.split(": ")
        fen, _, moves = place.partition(" moves ")
        opening = Opening(None if fen == "startpos" else fen, tuple(moves.split()))
        positions.append(CheckPosition(name, opening))
    return tuple(positions)


# The first two, one for each side to move, are those of longer searches.  In the forbidden en
# passant capture, d5xc6 would open the rank to the rook on h5.
CHESS = _read(
    """
a middlegame: r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2QK2R w KQ - 4 8
a middlegame as Black: r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2Q1RK1 b - - 5 8
an opening: startpos moves e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 a7a6
castling to both sides: r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R w KQkq - 6 8
castling rights lost: r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R w KQkq - 6 8 \
moves e1e2 e8e7 e2e1 e7e8
an en passant capture: startpos moves e2e4 a7a6 e4e5 d7d5
an en passant capture that is forbidden: 8/2p5/8/K2P3r/8/8/8/7k b - - 0 1 moves c7c5
a promotion: 8/P5k1/8/8/8/8/1p4K1/8 w - - 0 60
a king in check: rnb1kbnr/pppp1ppp/8/4p3/4PP1q/8/PPPP2PP/RNBQKBNR w KQkq - 1 3
a king in double check: 4k3/8/8/8/7b/8/4r3/R3K2R w - - 0 30
a single legal move: k7/8/K7/8/8/8/8/2R5 b - - 8 70
218 legal moves: R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1
""",
)

# All pieces are on the board or in a hand: some engines rely on it.  A pawn dropped on 1b would
# be mate.
SHOGI = _read(
    """
a middlegame: lnsgk2nl/1r4gs1/p1pppp1pp/1p4p2/7P1/2P6/PPSPPPP1P/7R1/LN1GKGSNL b Bb 1
a middlegame as White: lnsgk2nl/1r4gs1/p1pppp1pp/1p4p2/7P1/2P6/PPSPPPP1P/7R1/LN1GKGSNL w Bb 2
an opening: startpos moves 7g7f 3c3d 2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 2e2d 2c2d 2h2d
pieces in both hands: 4k4/4g4/p3p3p/9/2P6/9/P3P3P/4G4/4K4 b RBG2S2N2L5Prbg2s2n2l6p 1
a pawn that may not be dropped to mate: 7nk/9/7G1/9/9/9/9/9/4K4 b P2r2b3g4s3n4l17p 1
pawns on all files but one: 4k4/9/9/9/9/9/PPPP1PPPP/9/4K4 b P2r2b4g4s4n4l9p 1
a forced promotion: 4k4/P8/1N7/9/9/9/9/9/4K4 b 2r2b4g4s3n4l17p 1
a king in check: lnsgkgsnl/1r5b1/pppp1pppp/9/9/4r4/PPPP1PPPP/1B7/LNSGKGSNL b Pp 1
a king in double check: 4k4/9/9/9/9/9/3nr4/9/4K4 b R2B4G4S3N4L18P 1
593 legal moves: R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1
""",
)
START = CheckPosition("the start position", Opening())


def positions_for(settings: GameSettings) -> tuple[CheckPosition, ...]:
    """Return the positions for a game.

    Chess960 has the positions of chess.  Go and other variants have the start position only.
    """
    if settings.game == "shogi":
        return SHOGI
    if settings.game == "chess" and settings.variant in ("standard", "chess960"):
        return CHESS
    return (START,)
