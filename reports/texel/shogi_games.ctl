# Self-play of Fairy-Stockfish at shogi for labelled positions; see reports/texel_shogi.rst.

competition_type = "playoff"
game = "shogi"
players = {
    "a": Player("fairy-stockfish", protocol="usi", depth=5),
    "b": Player("fairy-stockfish", protocol="usi", depth=5),
}
openings = Openings("book.sfen", order="sequential")
move_limit = 320
record_files = "collected"
matchups = [Matchup("a", "b", number_of_games=1500, alternating=False)]
