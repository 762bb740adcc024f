"""Labelled positions and their features in memory-mapped files."""

from ringmaster.positions.columns import existing
from ringmaster.positions.feature_file import FeatureFile, FeatureWriter
from ringmaster.positions.position_file import PositionFile, position_writer

__all__ = ["FeatureFile", "FeatureWriter", "PositionFile", "existing", "position_writer"]
