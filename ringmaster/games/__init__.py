"""The rules of each game."""
