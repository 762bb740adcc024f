# Tunes eight evaluation weights of the shogi engine that comes with ringmaster, over
# USI.
#
#   ringmaster controlfiles/spsa_shogi.ctl run -j 2
#
# Nothing else has to be installed.

competition_type = "spsa"

description = """
Eight weights of the demo shogi engine, from deliberately poor values.
"""

game = "shogi"

import sys

players = {
    "demo": Player([sys.executable, "-m", "ringmaster.demo", "shogi"],
                   depth=1),
}

player = "demo"

def weight(name, start, max, min=0):
    return Parameter(name, start=start, min=min, max=max, integer=True)

parameters = [
    weight("SilverValue", 150, 1000, min=50),
    weight("GoldValue", 150, 1000, min=50),
    weight("BishopValue", 400, 2000, min=100),
    weight("RookValue", 400, 2000, min=100),
    weight("HorseValue", 600, 2000, min=100),
    weight("HandBonus", 60, 90, min=-30),
    weight("KingShelter", 0, 100),
    weight("KingDanger", 0, 100),
]

openings = Openings("openings.sfen", order="random")

number_of_games = 2000
move_limit = 320
record_games = False
seed = 1

# When the tune is done: the tuned against the start values, each of the 26 openings with both
# colours.  These engines leave nothing to chance: more games would repeat these.
verify = Verify(games=52)
