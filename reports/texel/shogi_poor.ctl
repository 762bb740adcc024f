# Texel tune of the shogi engine that ships, over USI; see reports/texel_shogi.rst.

competition_type = "texel"

description = """
Fifteen weights of the demo shogi engine, from deliberately poor values.
"""

game = "shogi"

import sys

players = {
    "demo": Player([sys.executable, "-m", "ringmaster.demo", "shogi"],
                   options={"Noise": 0}),
}

player = "demo"

def weight(name, start, min, max):
    return Parameter(name, start=start, min=min, max=max, integer=True)

# The values of the pieces hang together with the win-rate scale: one of them is pinned.
anchor = "PawnValue"
parameters = [
    weight("PawnValue", 100, 10, 500),
    weight("LanceValue", 150, 10, 1000),
    weight("KnightValue", 150, 10, 1000),
    weight("SilverValue", 150, 10, 1400),
    weight("GoldValue", 150, 10, 1400),
    weight("BishopValue", 400, 50, 2500),
    weight("RookValue", 400, 50, 2500),
    weight("PromotedPawnValue", 150, 10, 1400),
    weight("PromotedMinorValue", 150, 10, 1400),
    weight("HorseValue", 600, 50, 3000),
    weight("DragonValue", 600, 50, 3000),
    weight("HandBonus", 60, -50, 100),
    weight("PawnAdvance", 0, -40, 60),
    weight("GeneralAdvance", 0, -40, 60),
    weight("KingShelter", 0, -60, 120),
    weight("KingDanger", 0, -60, 200),
]

positions = Positions("shogi.psv")
target = Elmo(0.33)
loss = "cross_entropy"
regularisation = Ridge()
seed = 1

openings = Openings("book.sfen", order="random")
move_limit = 320
record_games = False
verify = Verify(games=1000, depth=1)
