# GNU Go's level on 9x9, by the cross-entropy method.
#
#   ringmaster controlfiles/ce_tuner_gnugo.ctl run -j 2
#
# Each generation draws its candidates from a Gaussian distribution, lets each
# play a batch of games, and moves the distribution towards the elite.  The
# distribution is over plain numbers; `transform` makes of them what the engine is
# given.
#
# Needs gnugo (Debian: apt-get install gnugo).

competition_type = "ce_tuner"

description = """
GNU Go's level, against GNU Go at level 1.
"""


def gnugo(level):
    return Player(["gnugo", "--mode=gtp", "--chinese-rules", "--capture-all-dead",
                   f"--level={level}"])


players = {"gnugo-l1": gnugo(1)}
opponent = "gnugo-l1"


def level(f):
    return max(0, min(10, round(f)))


parameters = [
    Parameter("level",
              initial_mean=2.0,
              initial_variance=6.0,
              transform=level,
              format="L: %d"),
]


def make_candidate(level):
    return gnugo(level)


board_size = 9
komi = 6.5
candidate_colour = "alternating"
seed = 1

number_of_generations = 5       # may be raised later: the tune goes on
samples_per_generation = 12
batch_size = 4
elite_proportion = 0.25
step_size = 0.7
