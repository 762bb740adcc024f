# Self-play of Glaurung for labelled positions; see reports/texel_glaurung.rst.

competition_type = "playoff"
game = "chess"
options = {"Threads": 1, "Hash": 4, "OwnBook": False, "Ponder": False}
players = {
    "a": Player("glaurung", options=options, depth=5),
    "b": Player("glaurung", options=options, depth=5),
}
openings = Openings("book.epd", order="sequential")
move_limit = 300
record_files = "collected"
matchups = [Matchup("a", "b", number_of_games=2800, alternating=False)]
