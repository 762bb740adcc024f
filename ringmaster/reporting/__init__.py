"""Turning report data into text, and the live display."""
