# GNU Go against itself at two levels, on 9x9, over GTP.
#
#   ringmaster controlfiles/playoff_gnugo.ctl run -j 2
#
# Needs gnugo (Debian: apt-get install gnugo).

competition_type = "playoff"

description = """
GNU Go at level 1 against level 8.
"""

def gnugo(level):
    return Player("gnugo --mode=gtp --chinese-rules --capture-all-dead "
                  "--level=%d" % level)

players = {
    "gnugo-l1": gnugo(1),
    "gnugo-l8": gnugo(8),
}

board_size = 9
komi = 6.5

matchups = [
    Matchup("gnugo-l1", "gnugo-l8", alternating=True,
            number_of_games=20),

    Matchup("gnugo-l1", "gnugo-l8",
            id="h2", name="gnugo-l1 with two stones",
            handicap=2, komi=0.5, scorer="internal",
            number_of_games=10),
]
