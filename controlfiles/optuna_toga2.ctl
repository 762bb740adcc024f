# Toga II's evaluation by Optuna: weights, a choice, and parameters that depend on it.
#
#   ringmaster controlfiles/optuna_toga2.ctl run -j 2
#
# Optuna proposes candidates.  Each plays up to 40 games against the engine as its author made it,
# from one opening with both colours in turn; a hopeless one ends earlier.  (Without `opponent`,
# candidates would play the start values, which are so wrong that most would win every game.)  More
# trials may be added later, and another sampler may go on.
#
# Needs toga2 (Debian: apt-get install toga2) and Optuna
# (pip install 'ringmaster-engines[tuners]').

competition_type = "optuna_tuner"

description = """
Weights of Toga II 3.0's evaluation (percent of what its author gave them) and its lazy
evaluation, from deliberately wrong values.
"""

game = "chess"

def toga2():
    return Player(
        "toga2",
        options={"Hash": 4, "OwnBook": False, "Number of Threads": 1},
        depth=3)


players = {"toga2": toga2(), "usual": toga2()}
player = "toga2"
opponent = "usual"

def weight(name, start):
    return Parameter(name, start=start, min=0, max=400, integer=True)

parameters = [
    weight("Material", 40),
    weight("Piece Activity", 300),
    weight("King Safety", 300),
    weight("Passed Pawns", 20),
    Parameter("Toga Lazy Eval", start=True, choices=[True, False]),
    # without lazy evaluation, its margins do not exist
    Parameter("Toga Lazy Eval Margin", start=40, min=20, max=900, integer=True, scale="log",
              only_if={"Toga Lazy Eval": True}),
    Parameter("Toga Lazy Eval Mobility Margin", start=20, min=20, max=900, step=20,
              integer=True, only_if={"Toga Lazy Eval": True}),
]


# A candidate that this function refuses is not played.  A parameter that does not exist is None.
def constraint(**values):
    margin = values["Toga Lazy Eval Margin"]
    return margin is None or values["Toga Lazy Eval Mobility Margin"] <= margin


openings = Openings("openings.epd", order="random")

sampler = "tpe"
number_of_trials = 60
games_per_trial = 40
move_limit = 400
record_games = False
seed = 1

# When the tune is done: the best against the start values.
verify = Verify(games=400, sprt=SPRT(0, 10))
