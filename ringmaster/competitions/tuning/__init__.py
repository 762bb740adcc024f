"""Competitions that tune parameters: ce_tuner, mc_tuner, and parts shared with
spsa, texel and optuna_tuner."""
