"""Labelled positions and their features in memory-mapped files."""

from ringmaster.positions.feature_file import FeatureFile, FeatureWriter
from ringmaster.positions.position_file import Labels, PositionFile, PositionWriter

__all__ = ["FeatureFile", "FeatureWriter", "Labels", "PositionFile", "PositionWriter"]
