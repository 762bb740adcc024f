# Three engines on a clock, everybody against everybody, with ratings.
#
#   ringmaster controlfiles/allplayall_chess.ctl run -j 2
#
# Games that both engines call level, or that one calls hopeless, are not played to
# their end.  Competitors can be added at the end of the list at any time, and will
# catch up.
#
# Needs stockfish, ethereal-chess and toga2 (Debian: apt-get install stockfish
# ethereal-chess toga2).

competition_type = "allplayall"

description = """
Stockfish, Ethereal with four times its time, and Toga with twenty-five times.
"""

game = "chess"
options = {"Hash": 8}  # of all players

# Time odds: each player has its own clock.
players = {
    "stockfish": Player("stockfish", time_control="0.4+0.008"),
    "ethereal": Player("ethereal-chess", time_control="1.5+0.03"),
    "toga": Player(
        "toga2", options={"OwnBook": False}, time_control="10+0.1"
    ),
}

competitors = ["stockfish", "ethereal", "toga"]

# Games of each pairing: 10 openings, each with both colours, others for each pairing.
rounds = 20
openings = Openings("openings.epd", order="random", policy="encounter")

draw_adjudication = DrawAdjudication(move_number=40, move_count=6, score=10)
resign_adjudication = ResignAdjudication(move_count=4, score=900, two_sided=True)

# Ratings on this scale instead of above the average.
anchor = ("toga", 2500)

# What records say of each move beside score, depth and time.
record_info = ["seldepth", "nodes", "pv", "left"]
