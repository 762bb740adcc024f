# Two new versions against four opponents, over UCI.
#
#   ringmaster controlfiles/gauntlet_chess.ctl run -j 2
#
# The challengers do not meet each other, and neither do the opponents.  Reports
# show each challenger's points against each opponent, its Elo over the field of
# all of them, and ratings.  Challengers and opponents can be added at the end of
# their lists at any time, and will catch up.
#
# Needs stockfish, glaurung, toga2, ethereal-chess and fairy-stockfish (Debian:
# apt-get install stockfish glaurung toga2 ethereal-chess fairy-stockfish).

competition_type = "gauntlet"

description = """
What do three times the nodes give Stockfish against other engines?
"""

game = "chess"
options = {"Hash": 8}  # of all players

glaurung = {"Threads": 1, "OwnBook": False, "Ponder": False}

players = {
    "sf-500": Player("stockfish", nodes=500),
    "sf-1500": Player("stockfish", nodes=1500),
    "glaurung": Player("glaurung", options=glaurung, depth=6),
    "toga": Player("toga2", options={"OwnBook": False}, depth=6),
    "ethereal": Player("ethereal-chess", depth=6),
    "fairy": Player("fairy-stockfish", nodes=2000),
}

# A, B, … in reports and game ids
challengers = ["sf-500", "sf-1500"]

# 1, 2, … in reports and game ids: the games of sf-1500 against toga are Bv2_00, …
opponents = ["glaurung", "toga", "ethereal", "fairy"]

# Games of each pairing.  Every opening is played twice, with the colours swapped.
rounds = 20
openings = Openings("openings.epd", order="random")
