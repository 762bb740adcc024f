"""Search by trials: Optuna's proposals, estimates of scores, early ends."""
