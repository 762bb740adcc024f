# GNU Go at level 1 against level 8, on several terms, over GTP.
#
#   ringmaster controlfiles/playoff_gnugo.ctl run -j 2
#
# Each matchup is played to its own number of games, in turn: the one with the
# fewest games comes next.  Between runs, games can be added or taken away and
# matchups can be added at the end; only the players of a matchup must stay.
#
# Needs gnugo (Debian: apt-get install gnugo).  The 84 games take about five
# minutes on one core.

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

# What a matchup does not say for itself is taken from here.
board_size = 9
komi = 6.5
number_of_games = 20
scorer = "internal"

matchups = [
    # Colours swapped from game to game; without an id it is matchup 0, and its
    # games are 0_00 to 0_19.
    Matchup("gnugo-l1", "gnugo-l8", alternating=True),

    # Without `alternating` the first player has Black in every game, as it
    # should with a handicap.  The name tells it from the others in reports.
    Matchup("gnugo-l1", "gnugo-l8",
            id="h2", name="gnugo-l1 with two stones",
            handicap=2, komi=0.5),

    # Another board, stones where Black wants them, scored by the engines.
    Matchup("gnugo-l1", "gnugo-l8",
            id="free", name="gnugo-l1 with three stones of its choice on 13x13",
            board_size=13, handicap=3, handicap_style="free", komi=0.5,
            scorer="players", number_of_games=4),

    # A whole komi allows jigos, and a player may meet itself: how much is
    # Black's first move worth?
    Matchup("gnugo-l1", "gnugo-l1",
            id="self", name="gnugo-l1 against itself, komi 7",
            komi=7, number_of_games=40),

    # Switched off.  Any number but 0 switches it on, now or in a later run.
    Matchup("gnugo-l1", "gnugo-l8",
            id="limit", name="at most 60 moves", move_limit=60,
            number_of_games=0),
]
