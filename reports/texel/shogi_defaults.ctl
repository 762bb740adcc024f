# Texel tune of the shogi engine that ships, over USI; see reports/texel_shogi.rst.

competition_type = "texel"

description = """
Fifteen weights of the demo shogi engine, from their defaults.
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
    weight("LanceValue", 270, 10, 1000),
    weight("KnightValue", 300, 10, 1000),
    weight("SilverValue", 460, 10, 1400),
    weight("GoldValue", 520, 10, 1400),
    weight("BishopValue", 800, 50, 2500),
    weight("RookValue", 950, 50, 2500),
    weight("PromotedPawnValue", 480, 10, 1400),
    weight("PromotedMinorValue", 510, 10, 1400),
    weight("HorseValue", 1050, 50, 3000),
    weight("DragonValue", 1250, 50, 3000),
    weight("HandBonus", 8, -50, 100),
    weight("PawnAdvance", 3, -40, 60),
    weight("GeneralAdvance", 4, -40, 60),
    weight("KingShelter", 15, -60, 120),
    weight("KingDanger", 20, -60, 200),
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
