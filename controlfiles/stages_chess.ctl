# Which of three settings makes Stockfish strongest?  A race drops the weak ones; its winner then
# plays two tests with new games, the second with more nodes.
#
#   ringmaster controlfiles/stages_chess.ctl run -j 2
#
# Needs stockfish (Debian: apt-get install stockfish).

competition_type = "playoff"

description = """
Three candidates against Stockfish with 300 nodes a move: a race, then two stages.
"""

game = "chess"


def stockfish(**limits):
    return Player("stockfish", options={"Hash": 8}, **limits)


players = {
    "base": stockfish(nodes=300),
    "nodes-350": stockfish(nodes=350),
    "nodes-500": stockfish(nodes=500),
    "depth-4": stockfish(depth=4),
}

openings = Openings("openings.epd", order="random")

matchups = [
    Matchup("nodes-350", "base"),
    Matchup("nodes-500", "base"),
    Matchup("depth-4", "base"),
]

# The best candidate is dropped in at most five of a hundred races.
race = Race(error=0.05, number_of_games=1000)

stages = [
    Stage("gain", sprt=SPRT(0, 30)),
    # How much is it?  Until the 95 % interval is ± 25 Elo.
    Stage("size", stop_at=Precision(25), only_if="gain passed"),
]

# Each stage is left undecided after as many games.
number_of_games = 2000
