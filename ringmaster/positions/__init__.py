"""Labelled positions in the form that is read fast: files that are mapped into memory."""

from ringmaster.positions.feature_file import FeatureFile, FeatureWriter
from ringmaster.positions.position_file import Labels, PositionFile, PositionWriter

__all__ = ["FeatureFile", "FeatureWriter", "Labels", "PositionFile", "PositionWriter"]
