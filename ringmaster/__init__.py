"""Plays and tunes game engines (Go, chess, shogi) from one control file."""

__version__ = "0.1.0"
