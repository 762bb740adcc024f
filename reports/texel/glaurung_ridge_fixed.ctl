# Texel tune of Glaurung over UCI; see reports/texel_glaurung.rst.  A ridge of one strength.

competition_type = "texel"

description = """
Nine evaluation options of Glaurung 2.2.
"""

game = "chess"

players = {
    "glaurung": Player(
        "glaurung",
        options={"Threads": 1, "Hash": 4, "OwnBook": False, "Ponder": False},
        depth=5),
}

player = "glaurung"

def weight(name, start=100, high=200, step=20):
    return Parameter(name, start=start, min=0, max=high, step=step, integer=True)

parameters = [
    weight("Mobility (Middle Game)"),
    weight("Mobility (Endgame)"),
    weight("Pawn Structure (Middle Game)"),
    weight("Pawn Structure (Endgame)"),
    weight("Passed Pawns (Middle Game)"),
    weight("Passed Pawns (Endgame)"),
    weight("Space"),
    weight("Aggressiveness"),
    weight("Cowardice"),
]

positions = Positions("glaurung.plain")
target = Texel()
optimiser = GaussNewton()
regularisation = Ridge(0.01)
validation = 0.2
seed = 1

openings = Openings("book.epd", order="random")
move_limit = 400
verify = Verify(games=600)
