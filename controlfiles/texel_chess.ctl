# Tunes seven evaluation weights of the chess engine that comes with ringmaster, on 960
# labelled positions of its own games.
#
#   ringmaster controlfiles/texel_chess.ctl run -j 2
#
# Nothing else has to be installed.  The positions are of 260 games at depth 1 with
# Noise=60; `ringmaster games.ctl positions --format epd` made them.  That is far too few
# for a tune that is meant: it shows how one is written, and takes less than a minute.

competition_type = "texel"

description = """
Seven weights of the demo chess engine, from deliberately poor values.
"""

game = "chess"

import sys

players = {
    "demo": Player([sys.executable, "-m", "ringmaster.demo", "chess"],
                   options={"Noise": 0}),
}

player = "demo"

def weight(name, start, max, min=0, **more):
    return Parameter(name, start=start, min=min, max=max, integer=True, **more)

# The values of the pieces hang together with the win-rate scale: one of them is pinned.
anchor = "PawnValue"
parameters = [
    weight("PawnValue", 100, 300, min=20),
    weight("KnightValue", 200, 900, min=50),
    weight("BishopValue", 250, 900, min=50),
    weight("RookValue", 350, 1400, min=50),
    weight("QueenValue", 600, 2500, min=100),
    weight("BishopPair", 0, 200, min=-100),
    weight("Mobility", 0, 400, min=-200),
]

positions = Positions("texel_positions.epd", score_cap=2000)

# Half the result of the game, half the win probability of the engine's own score, less of
# it where the game is decided.
target = GaussianLambda(0.5)

# The strength is found by the error of the positions that are held out.
regularisation = Ridge()

openings = Openings("openings.epd", order="random")
record_games = False
seed = 1

# When the tune is done: the tuned against the start values.
verify = Verify(games=20, depth=1)
