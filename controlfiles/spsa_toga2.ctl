# SPSA on a real engine, with nothing but ranges given: the six weights of Toga II's
# evaluation, over UCI, from deliberately wrong values.
#
#   ringmaster controlfiles/spsa_toga2.ctl run -j 2
#
# Needs toga2 (Debian: apt-get install toga2).

competition_type = "spsa"

description = """
Weights of Toga II 3.0's evaluation (percent of what its author gave them), from
deliberately wrong values.
"""

game = "chess"

players = {
    "toga2": Player(
        "toga2",
        options={"Hash": 4, "OwnBook": False, "Number of Threads": 1},
        depth=3),
}

player = "toga2"

def weight(name, start):
    return Parameter(name, start=start, min=0, max=400, integer=True)

parameters = [
    weight("Material", 40),
    weight("Piece Activity", 300),
    weight("Piece Square Activity", 20),
    weight("King Safety", 300),
    weight("Pawn Structure", 300),
    weight("Passed Pawns", 20),
]

openings = Openings("openings.epd", order="random")

number_of_games = 10000
move_limit = 400
record_games = False
seed = 1

# When the tune is done: the tuned against the start values.
verify = Verify(games=2000, sprt=SPRT(0, 5))
