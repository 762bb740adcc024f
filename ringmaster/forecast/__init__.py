"""Forecasts of a tune: `plan` by formulas, `simulate` by simulated players."""
