# Fairy-Stockfish against itself with more nodes, at shogi, over USI.
#
#   ringmaster controlfiles/playoff_shogi.ctl run -j 2
#
# Needs fairy-stockfish (Debian: apt-get install fairy-stockfish).

competition_type = "playoff"

description = """
What are twice the nodes worth at shogi?
"""

game = "shogi"

options = {"Hash": 16, "Threads": 1}  # of all players

players = {
    "f-1k": Player("fairy-stockfish", nodes=1000),
    "f-2k": Player("fairy-stockfish", nodes=2000),
    # On a clock instead: two seconds a move.  Not "60+2byo": Fairy-Stockfish 11.1
    # takes the other side's clock for its own over USI, and loses on time.
    # "clock": Player("fairy-stockfish", time_control="0+2byo"),
}

# An engine that says `bestmove win` must have 28 points (White 27), its king and
# ten other pieces in the enemy's camp, and not be in check.
entering_king = "27"

# A draw after so many plies, as in tournaments.
move_limit = 512

# Times, scores and expected lines; "kif" for programs that read KIF.
record_format = "csa"

# Every opening is played twice, with the colours swapped.
openings = Openings("openings.sfen", order="random")

number_of_games = 20

matchups = [
    Matchup("f-2k", "f-1k"),
]
