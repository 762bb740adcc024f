"""Labelled positions in the form that is read fast: one file, mapped into memory."""

from ringmaster.positions.position_file import Labels, PositionFile, PositionWriter

__all__ = ["Labels", "PositionFile", "PositionWriter"]
