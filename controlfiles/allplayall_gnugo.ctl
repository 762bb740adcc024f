# GNU Go at levels 1, 2 and 3, each against each, on 9x9, over GTP.
#
#   ringmaster controlfiles/allplayall_gnugo.ctl run -j 2
#
# Reports show a grid of wins and losses, ratings with their errors, and each
# pairing in full.  Raise `rounds` and run it again for more games; a level can
# be added at the end of `competitors` at any time, and will catch up.
#
# Needs gnugo (Debian: apt-get install gnugo).  The 300 games take about five
# minutes on two cores.

competition_type = "allplayall"

description = """
Does GNU Go play better at level 2 than at level 1, and at level 3 than at 2?
"""

def gnugo(level):
    return Player("gnugo --mode=gtp --chinese-rules --capture-all-dead "
                  "--level=%d" % level)

players = {f"gnugo-l{level}": gnugo(level) for level in (1, 2, 3)}

# In the order of the grid, where they are called A, B and C; the games of the
# first two are AvB_00 to AvB_99.
competitors = ["gnugo-l1", "gnugo-l2", "gnugo-l3"]

# Games of each pairing, with colours swapped from game to game.
rounds = 100

board_size = 9
komi = 6.5
scorer = "internal"
