"""Labelled positions as others have them: many formats, read as a stream, filtered and
made into a position file."""

from ringmaster.datasets.build import build
from ringmaster.datasets.formats import FORMATS as READERS
from ringmaster.datasets.settings import POV_NAMES, PositionSettings

__all__ = ["POV_NAMES", "READERS", "PositionSettings", "build"]
