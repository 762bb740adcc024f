"""spsa: tunes one player's parameters by simultaneous perturbations."""
