# Toga II's pruning by Optuna, with choices and parameters that depend on them.
#
#   ringmaster controlfiles/optuna_toga2.ctl run -j 2
#
# Optuna proposes candidates.  Each plays up to 40 games against the start values, from one
# opening with both colours in turn; a hopeless one ends earlier.  More trials may be added later,
# and another sampler may go on.
#
# Needs toga2 (Debian: apt-get install toga2) and Optuna
# (pip install 'ringmaster-engines[tuners]').

competition_type = "optuna_tuner"

description = """
Pruning of Toga II 3.0, from poor values: no null moves, cautious futility pruning.
"""

game = "chess"

players = {
    "toga2": Player(
        "toga2",
        options={"Hash": 4, "OwnBook": False, "Number of Threads": 1},
        move_time=0.05),
}

player = "toga2"

parameters = [
    Parameter("NullMove Pruning", start="Never", choices=["Always", "Fail High", "Never"]),
    # without null moves, neither of the next two exists
    Parameter("NullMove Reduction", start=3, min=1, max=4, integer=True,
              only_if={"NullMove Pruning": ["Always", "Fail High"]}),
    Parameter("Verification Search", start="Always", choices=["Always", "Endgame", "Never"],
              only_if={"NullMove Pruning": ["Always", "Fail High"]}),
    Parameter("Futility Pruning", start=True, choices=[True, False]),
    Parameter("Futility Margin", start=400, min=20, max=500, step=20, integer=True,
              only_if={"Futility Pruning": True}),
    Parameter("Extended Futility Margin", start=800, min=50, max=900, integer=True, log=True,
              only_if={"Futility Pruning": True}),
]


# Candidates that this function refuses are not played.  Names with spaces are its keywords.
def constraint(**values):
    margin, extended = values["Futility Margin"], values["Extended Futility Margin"]
    return margin is None or margin <= extended


openings = Openings("openings.epd", order="random")

sampler = "tpe"
number_of_trials = 100
games_per_trial = 40
move_limit = 400
record_games = False
seed = 1

# When the tune is done: the best against the start values.
verify = Verify(games=400, sprt=SPRT(0, 10))
