# GNU Go's level, by CLOP, with a function that makes the candidates.
#
#   ringmaster controlfiles/clop_gnugo.ctl run -j 2
#
# Control files of gomill-clop are like this one.
#
# Needs gnugo (Debian: apt-get install gnugo).

competition_type = "clop_tuner"

description = """
GNU Go's level, against GNU Go at level 5.
"""


def gnugo(level):
    return Player(["gnugo", "--mode=gtp", "--chinese-rules", "--capture-all-dead",
                   f"--level={level}"])


players = {"gnugo-l5": gnugo(5)}
opponent = "gnugo-l5"

parameters = [
    Parameter("level", min=0, max=10, integer=True),
]


def make_candidate(level):
    return gnugo(level)


board_size = 9
komi = 6.5
seed = 1

number_of_games = 200
clop_H = 3
