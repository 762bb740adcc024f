"""The rules of each game, openings, and the formats of game records."""
