# Tunes twelve evaluation weights of the chess engine that comes with ringmaster by the linear
# optimiser, on 960 labelled positions of its own games.
#
#   ringmaster controlfiles/texel_linear.ctl run -j 2
#
# Nothing else has to be installed, and it takes some seconds: the engine is asked how often it
# counts each weight in each position, once, and all else is computed.  It scores the positions
# three times only: with the start values, with others to see that the counts explain its scores,
# and with the values found.  Like those of texel_chess.ctl, the positions are too few for a tune
# that is meant.

competition_type = "texel"

description = """
Twelve weights of the demo chess engine, from deliberately poor values, by their counts.
"""

game = "chess"

import sys

players = {
    "demo": Player([sys.executable, "-m", "ringmaster.demo", "chess"],
                   options={"Noise": 0}),
}

player = "demo"

# A parameter is the weight of the feature of the same name; option="..." says what else the
# engine may call it.
def weight(name, start, max, min=0):
    return Parameter(name, start=start, min=min, max=max, integer=True)

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
    weight("Centre", 0, 80, min=-40),
    weight("PawnAdvance", 0, 60, min=-40),
    weight("PassedPawn", 0, 80, min=-40),
    weight("OpenFile", 0, 100, min=-50),
    weight("KingShield", 0, 80, min=-50),
]

positions = Positions("texel_positions.epd", score_cap=2000)

# Half the result of the game, half the win probability of the engine's own score, less of
# it where the game is decided.
target = GaussianLambda(0.5)

# The engine is sent "features" for each position, and this makes a mapping of its answer, which
# is "features constant 5 PawnValue 0 KnightValue -1 ...".  Counts are White's less Black's.
# Names that are no parameter's (constant) are passed over.  A file of counts would be
# Linear(features="counts.csv").
def counts(answer, position):
    line = next(line for line in answer.splitlines() if line.startswith("features "))
    words = line.split()[1:]
    return {name: float(count) for name, count in zip(words[::2], words[1::2])}

optimiser = Linear(features=counts)

# The strength is found by the error of the positions that are held out.
regularisation = Ridge()

openings = Openings("openings.epd", order="random")
record_games = False
seed = 1

# When the tune is done: the tuned against the start values.
verify = Verify(games=20, depth=1)
