"""Labelled positions and their features in memory-mapped files."""

from ringmaster.positions.feature_file import FeatureFile, FeatureWriter
from ringmaster.positions.position_file import PositionFile, write_positions

__all__ = ["FeatureFile", "FeatureWriter", "PositionFile", "write_positions"]
