# Tunes four evaluation weights of the chess engine that comes with ringmaster.
#
#   ringmaster controlfiles/tune.ctl run -j 2
#
# Nothing else has to be installed.  Stop it whenever you like (Ctrl-X after the
# games in progress, Ctrl-C at once) and run it again: it goes on where it was.

competition_type = "spsa"

description = """
Four weights of the demo engine, from deliberately poor values.
"""

game = "chess"

import sys

players = {
    "demo": Player([sys.executable, "-m", "ringmaster.demo", "chess"],
                   depth=1),
}

player = "demo"

# The method finds the perturbations and the step sizes.
parameters = [
    Parameter("KnightValue", start=500, min=100, max=900, integer=True),
    Parameter("RookValue", start=250, min=100, max=1000, integer=True),
    Parameter("Mobility", start=0, min=-50, max=150, integer=True),
    Parameter("PassedPawn", start=0, min=-20, max=60, integer=True),
]

openings = Openings("openings.epd", order="random")

number_of_games = 1200
move_limit = 300
record_games = False
seed = 1

# When the tune is done: the tuned against the start values.
verify = Verify(games=300)
