# The number of playouts for GNU Go's Monte Carlo mode, by the cross-entropy method.
#
#   ringmaster controlfiles/ce_tuner_gnugo.ctl run -j 2
#
# Each generation draws its candidates from a Gaussian distribution, lets each
# play a batch of games, and moves the distribution towards the elite.  The
# distribution is in terms of the logarithm of the number of playouts; `transform`
# makes of it what the engine is given.
#
# Needs gnugo (Debian: apt-get install gnugo).  480 games take about six minutes.

competition_type = "ce_tuner"

description = """
GNU Go's Monte Carlo mode against its usual one at level 1.
"""

GNUGO = "gnugo --mode=gtp --chinese-rules --capture-all-dead --level=1"

players = {"gnugo-l1": Player(GNUGO)}
opponent = "gnugo-l1"

MOST = 3000                     # more would only be slow


def playouts(f):
    return max(1, min(MOST, round(10 ** f)))


parameters = [
    Parameter("playouts",
              initial_mean=1.5,         # 10 ** 1.5 is 32 playouts
              initial_variance=0.5,
              transform=playouts,
              format="P: %d"),
]


def make_candidate(playouts):
    return Player(f"{GNUGO} --monte-carlo --mc-games-per-level={playouts}")


board_size = 9
komi = 7.5
candidate_colour = "alternating"
seed = 1

number_of_generations = 6       # may be raised later: the tune goes on
samples_per_generation = 20
batch_size = 4
elite_proportion = 0.2
step_size = 0.7
