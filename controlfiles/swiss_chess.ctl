# Eight chess engines in a Swiss tournament, over UCI.
#
#   ringmaster controlfiles/swiss_chess.ctl run -j 2
#
# In each round everybody meets somebody who has done as well so far.  Reports
# show the table with its tie-breaks, ratings, and the rounds.  Raise `rounds` and
# run it again for more; a competitor can be added at the end of `competitors` at
# any time and joins in the next round.
#
# Needs stockfish, glaurung, toga2, ethereal-chess and fairy-stockfish (Debian:
# apt-get install stockfish glaurung toga2 ethereal-chess fairy-stockfish).

competition_type = "swiss"

description = """
Five engines, three of them at two levels.
"""

game = "chess"
options = {"Hash": 8}  # of all players

glaurung = {"Threads": 1, "OwnBook": False, "Ponder": False}
toga = {"OwnBook": False}

players = {
    "sf-3k": Player("stockfish", nodes=3000),
    "sf-1k": Player("stockfish", nodes=1000),
    "fairy": Player("fairy-stockfish", nodes=3000),
    "ethereal": Player("ethereal-chess", depth=8),
    "toga-d8": Player("toga2", options=toga, depth=8),
    "toga-d5": Player("toga2", options=toga, depth=5),
    "glaurung-d8": Player("glaurung", options=glaurung, depth=8),
    "glaurung-d5": Player("glaurung", options=glaurung, depth=5),
}

# A, B, … in reports and game ids; the strongest first, as far as one can guess.
competitors = ["sf-3k", "fairy", "sf-1k", "ethereal", "toga-d8", "glaurung-d8",
               "toga-d5", "glaurung-d5"]

rounds = 5

# Every opening is played twice, with the colours swapped; a round has the same
# ones on all boards, the next round has others.
games_per_pairing = 4
openings = Openings("openings.epd", order="random")
