# Stockfish with few nodes against Glaurung with many, as an SPRT; for pictures of the display.
#
#   ringmaster reports/terminal/stockfish_glaurung.ctl run -j 2
#
# Needs stockfish and glaurung (Debian: apt-get install stockfish glaurung).

competition_type = "playoff"

game = "chess"

players = {
    "stockfish": Player("stockfish", options={"Hash": 8}, nodes=500),
    "glaurung": Player("glaurung", options={"Hash": 8, "Threads": 1}, depth=3),
}

openings = Openings("../../controlfiles/openings.epd", order="random")

matchups = [Matchup("stockfish", "glaurung")]

sprt = SPRT(elo0=0, elo1=5)

number_of_games = 2000
