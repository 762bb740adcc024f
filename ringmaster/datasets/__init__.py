"""Labelled positions as others have them: many formats, read as a stream, filtered and
made into a position file."""

from ringmaster.datasets.build import build
from ringmaster.datasets.features import Pieces
from ringmaster.datasets.features import build as build_features
from ringmaster.datasets.formats import FORMATS as READERS
from ringmaster.datasets.settings import POV_NAMES, PositionSettings

__all__ = ["POV_NAMES", "READERS", "Pieces", "PositionSettings", "build", "build_features"]
