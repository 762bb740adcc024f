# How many playouts, and which patterns, for GNU Go's Monte Carlo mode on 9x9?
#
#   ringmaster controlfiles/mc_tuner_gnugo.ctl run -j 2
#
# The Monte Carlo tuner treats the fifteen candidates as the arms of a bandit:
# each game is played by the candidate that looks best, or that has been tried
# too little (the UCB formula).  It can be stopped at any time; the candidate with
# most wins so far is shown after every game.
#
# Needs gnugo (Debian: apt-get install gnugo).  600 games take about ten minutes.

competition_type = "mc_tuner"

description = """
GNU Go's Monte Carlo mode, tuned against its usual one at level 1.
"""

GNUGO = "gnugo --mode=gtp --chinese-rules --capture-all-dead --level=1"

players = {"gnugo-l1": Player(GNUGO)}
opponent = "gnugo-l1"

# A scale turns the middle of each of `split` parts of the range from 0 to 1 into
# what the engine is given; `format` is how reports show it.
parameters = [
    Parameter("playouts",
              scale=LOG(20, 2000, integer=True),
              split=5,
              format="P: %d"),
    Parameter("patterns",
              scale=EXPLICIT(["montegnu_classic", "mogo_classic", "uniform"]),
              split=3,
              format="%s"),
]


# One argument for each parameter, in their order.
def make_candidate(playouts, patterns):
    return Player(f"{GNUGO} --monte-carlo --mc-games-per-level={playouts} "
                  f"--mc-patterns={patterns}")


board_size = 9
komi = 7.5                      # fractional: no jigo
candidate_colour = "alternating"
seed = 1

number_of_games = 600
exploration_coefficient = 0.45
initial_visits = 10             # as if each had played ten games
initial_wins = 5                # and won five

summary_spec = [15]
log_tree_to_history_period = 100
