# SPSA on a real engine: six evaluation options of Glaurung, over UCI.
#
#   ringmaster controlfiles/spsa_glaurung.ctl run -j 2
#
# Needs glaurung (Debian: apt-get install glaurung).

competition_type = "spsa"

description = """
Evaluation options of Glaurung 2.2, from half of their defaults.
"""

game = "chess"

players = {
    "glaurung": Player(
        "glaurung",
        options={"Threads": 1, "Hash": 4, "OwnBook": False, "Ponder": False},
        depth=5),
}

player = "glaurung"

def weight(name, start):
    return Parameter(name, start=start, min=0, max=200, integer=True)

parameters = [
    weight("Mobility (Middle Game)", 50),
    weight("Mobility (Endgame)", 50),
    weight("Pawn Structure (Middle Game)", 50),
    weight("Passed Pawns (Endgame)", 50),
    weight("Aggressiveness", 50),
    weight("Cowardice", 50),
]

openings = Openings("openings.epd", order="random")
number_of_games = 1600
move_limit = 400
seed = 1

verify = Verify(games=300)
