"""Compiles some modules (`scripts/compiling.py`); everything else is in setup.cfg."""

import os
import sys

from setuptools import setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts"))
import compiling


def _say(reason):
    print(f"ringmaster is not compiled, and plays no worse: {reason}", file=sys.stderr)


class BuildExtensions(build_ext):
    """Leaves Python where the C compiler fails, unless that is an error."""

    def run(self):
        try:
            super().run()
        except Exception as error:
            if compiling.is_demanded():
                raise
            for path in self.get_outputs():
                if os.path.exists(path):
                    os.unlink(path)
            self.extensions = self.distribution.ext_modules = []
            _say(error)


def extensions():
    if not compiling.wanted(wheel="bdist_wheel" in sys.argv):
        return []
    try:
        return compiling.extensions()
    except (ImportError, SystemExit) as error:
        if compiling.is_demanded():
            raise
        _say(error)
        return []


# metadata is asked for as well, where there is nothing to compile
builds = {"bdist_wheel", "editable_wheel", "build_ext", "develop"} & set(sys.argv)
setup(ext_modules=extensions() if builds else [], cmdclass={"build_ext": BuildExtensions})
