"""setuptools as the build backend, which asks for a compiler of Python where the modules
of `compiling` are going to be compiled."""

import os
import sys

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403  # all that is not said here

sys.path.insert(0, os.path.dirname(__file__))
import compiling


def get_requires_for_build_wheel(config_settings=None):
    requirements = list(build_meta.get_requires_for_build_wheel(config_settings))
    return requirements + (compiling.REQUIREMENTS if compiling.wanted(wheel=True) else [])


def get_requires_for_build_editable(config_settings=None):
    requirements = list(build_meta.get_requires_for_build_editable(config_settings))
    return requirements + (compiling.REQUIREMENTS if compiling.wanted(wheel=False) else [])
