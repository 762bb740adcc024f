"""What a tune will give, told before it is played: `plan` from formulas, `simulate` by
letting the same competition play with simulated players."""
