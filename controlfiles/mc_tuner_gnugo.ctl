# GNU Go's level, and its search for large captures, on 9x9.
#
#   ringmaster controlfiles/mc_tuner_gnugo.ctl run -j 2
#
# The Monte Carlo tuner treats the eight candidates as the arms of a bandit: each
# game is played by the candidate that looks best, or that has been tried too
# little (the UCB formula).  It can be stopped at any time; the candidate with
# most wins so far is shown after every game.
#
# Needs gnugo (Debian: apt-get install gnugo).

competition_type = "mc_tuner"

description = """
GNU Go's level and large-scale captures, against GNU Go at level 1.
"""


def gnugo(level, *options):
    return Player(["gnugo", "--mode=gtp", "--chinese-rules", "--capture-all-dead",
                   f"--level={level}", *options])


players = {"gnugo-l1": gnugo(1)}
opponent = "gnugo-l1"

# A scale turns the middle of each of `split` parts of the range from 0 to 1 into
# what the engine is given; `format` is how reports show it.
parameters = [
    Parameter("level",
              scale=LINEAR(0.5, 8.5, integer=True),     # 2, 4, 6, 8
              split=4,
              format="L: %d"),
    Parameter("large_scale",
              scale=EXPLICIT(["--no-large-scale", "--large-scale"]),
              split=2,
              format="%s"),
]


# One argument for each parameter, in their order.
def make_candidate(level, large_scale):
    return gnugo(level, large_scale)


board_size = 9
komi = 6.5                      # fractional: no jigo
candidate_colour = "alternating"
seed = 1

number_of_games = 300
exploration_coefficient = 0.45
initial_visits = 10             # as if each had played ten games
initial_wins = 5                # and won five

summary_spec = [8]
log_tree_to_history_period = 50
