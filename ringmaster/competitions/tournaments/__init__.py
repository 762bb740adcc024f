"""Competitions of declared players: playoff, allplayall, gauntlet, swiss."""
