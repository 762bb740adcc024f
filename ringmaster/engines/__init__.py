"""Engine processes and their protocols (GTP, UCI, USI), without rules of any game."""
