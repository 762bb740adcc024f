"""Statistics of match results: Elo differences and their errors."""
