"""Passive types shared by every layer: players, time controls, jobs, results, settings."""
