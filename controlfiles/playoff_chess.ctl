# Stockfish with few nodes against Glaurung on a clock, over UCI.
#
#   ringmaster controlfiles/playoff_chess.ctl run -j 2
#
# Needs stockfish and glaurung (Debian: apt-get install stockfish glaurung).

competition_type = "playoff"

description = """
How many nodes does Stockfish need to hold its own against Glaurung?
"""

game = "chess"
options = {"Hash": 8}  # of all players

glaurung = {"Threads": 1, "OwnBook": False, "Ponder": False}

players = {
    "sf-2k": Player("stockfish", nodes=2000),
    "sf-20k": Player("stockfish", nodes=20000),
    "glaurung": Player("glaurung", options=glaurung, time_control="2+0.02"),
}

# Every opening is played twice, with the colours swapped.
openings = Openings("openings.epd", order="random")
number_of_games = 20

matchups = [
    Matchup("sf-2k", "glaurung"),
    Matchup("sf-20k", "glaurung"),
]
