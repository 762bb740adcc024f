"""optuna_tuner: candidates proposed by Optuna play in trials of a number of games each."""
