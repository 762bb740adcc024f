"""Labelled positions and their features in memory-mapped files."""

from ringmaster.positions.feature_file import FeatureFile, write_features
from ringmaster.positions.position_file import PositionFile, write_positions

__all__ = ["FeatureFile", "PositionFile", "write_features", "write_positions"]
