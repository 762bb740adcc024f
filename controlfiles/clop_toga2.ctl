# CLOP on a real engine: two weights of Toga II's evaluation, against two opponents.
#
#   ringmaster controlfiles/clop_toga2.ctl run -j 2
#
# Each sample of the weights plays one game against each opponent.  One opponent is Toga II
# with its own weights: a tune in self-play.
#
# Needs toga2 and glaurung (Debian: apt-get install toga2 glaurung).

competition_type = "clop_tuner"

description = """
Weights of Toga II 3.0's evaluation, in percent of its author's values (100).
"""

game = "chess"

players = {
    "toga2": Player(
        "toga2",
        options={"Hash": 4, "OwnBook": False, "Number of Threads": 1},
        depth=3),
    "glaurung": Player("glaurung", options={"Hash": 4, "Threads": 1}, depth=3),
}

player = "toga2"
opponent = ["toga2", "glaurung"]

parameters = [
    # min and max are the engine's own bounds
    Parameter("Material", min=0, max=400, integer=True),
    Parameter("PieceActivity", min=0, max=400, integer=True,
              option="Piece Activity"),
]

openings = Openings("openings.epd", order="random")

number_of_games = 10000         # may be raised later: the tune goes on
move_limit = 400
record_games = False
seed = 1

# When the tune is done: an unbiased result of the tuned weights.
verify = Verify(games=1000, against="toga2")
