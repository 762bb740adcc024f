# GNU Go's two ways of play, classic and Monte Carlo, on 9x9 by Optuna.
#
#   ringmaster controlfiles/optuna_gnugo.ctl run -j 2
#
# The level matters to both ways, the number of simulations to Monte Carlo only: a parameter that
# exists beside one choice.  Candidates play against two opponents in turn.
#
# Needs gnugo (Debian: apt-get install gnugo) and Optuna
# (pip install 'ringmaster-engines[tuners]').

competition_type = "optuna_tuner"

description = """
GNU Go's level, influence and Monte Carlo search, against GNU Go at levels 1 and 5.
"""


def gnugo(level, *options):
    return Player(["gnugo", "--mode=gtp", "--chinese-rules", "--capture-all-dead",
                   f"--level={level}", *options])


players = {"gnugo": gnugo(3), "gnugo-l1": gnugo(1), "gnugo-l5": gnugo(5)}
player = "gnugo"
opponent = {"gnugo-l1": 1, "gnugo-l5": 1}

parameters = [
    Parameter("way", start="classic", choices=["classic", "monte-carlo"]),
    Parameter("level", start=3, min=1, max=8, integer=True),
    Parameter("cosmic", start=False, choices=[False, True], only_if={"way": "classic"}),
    Parameter("simulations", start=200, min=50, max=2000, scale="log", integer=True,
              only_if={"way": "monte-carlo"}),
]


# A parameter that does not exist is None.
def make_candidate(way, level, cosmic, simulations):
    if way == "monte-carlo":
        return gnugo(level, "--monte-carlo", f"--mc-games-per-level={simulations}")
    return gnugo(level, "--cosmic-gnugo" if cosmic else "--no-cosmic-gnugo")


board_size = 9
komi = 6.5
seed = 1

sampler = "tpe"
number_of_trials = 30       # may be raised later: the tune goes on
games_per_trial = 16
