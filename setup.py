"""Compiles some modules (`scripts/compiling.py`); everything else is in setup.cfg."""

import os
import sys

from setuptools import setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts"))
import compiling


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
            compiling.say(error)


# metadata is asked for as well, where there is nothing to compile
builds = not {"bdist_wheel", "editable_wheel", "build_ext", "develop"}.isdisjoint(sys.argv)
modules = compiling.extensions(wheel="bdist_wheel" in sys.argv) if builds else []
setup(ext_modules=modules, cmdclass={"build_ext": BuildExtensions})
