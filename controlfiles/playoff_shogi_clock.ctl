# Fairy-Stockfish against GPS Shogi, with byo-yomi, over USI.
#
#   ringmaster controlfiles/playoff_shogi_clock.ctl run -j 2
#
# Needs fairy-stockfish and gpsshogi (Debian: apt-get install fairy-stockfish
# gpsshogi).

competition_type = "playoff"

description = """
Two shogi engines that have nothing in common.
"""

game = "shogi"

players = {
    # Nothing but byo-yomi: Fairy-Stockfish 11.1 takes the other side's clock for its
    # own over USI, and loses on time where the two differ.  Most moves are over after
    # the nodes; the clock holds for all.
    "fairy": Player(
        "fairy-stockfish",
        options={"Hash": 16, "Threads": 1},
        time_control="0+1byo",
        nodes=8000,
    ),
    # It loads large tables first, and knows no limit but byo-yomi.  Its own limits
    # are in its command line; it thinks up to 0.2 s longer than it may.  Its scores
    # are its opponent's.
    "gps": Player(
        "gpsusi -N 1 --memory-use-percent 5 --node-count-hard-limit 30000",
        time_control="0+1byo",
        margin=0.5,
        ready_timeout=200,
        score_pov="opponent",
    ),
}

# Every opening is played twice, with the colours swapped.  A handicap is a start
# position, too: `sfen lnsgkgsn1/1r5b1/… w - 1` is a line of such a file.
openings = Openings("openings.sfen", order="random")

# A draw after so many plies, as in tournaments.
move_limit = 320

number_of_games = 60

matchups = [Matchup("fairy", "gps")]
