# Whether half as many nodes again make Stockfish stronger, over UCI: the match ends as
# soon as that is decided.
#
#   ringmaster controlfiles/sprt_chess.ctl run -j 2
#
# Needs stockfish (Debian: apt-get install stockfish).

competition_type = "playoff"

description = """
Does Stockfish play better with 600 nodes a move than with 400?
"""

game = "chess"


def stockfish(nodes):
    return Player("stockfish", options={"Hash": 8}, nodes=nodes)


players = {"sf-600": stockfish(600), "sf-400": stockfish(400)}

# Every opening is played twice, with the colours swapped: a pair.
openings = Openings("openings.epd", order="random")

matchups = [Matchup("sf-600", "sf-400")]

# H0: no stronger; H1: 30 normalised Elo stronger.  Wrong five times in a hundred,
# either way.
sprt = SPRT(elo0=0, elo1=30, alpha=0.05, beta=0.05)

# If it is not decided by then, it is left undecided.
number_of_games = 2000
