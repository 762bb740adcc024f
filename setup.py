"""Build script and build backend: setup.cfg has the metadata.

`RINGMASTER_COMPILE=1 pip install .` compiles the modules below with mypyc; a failure is an
error.  Every move of every game goes through them.  The program does the same with and
without, and needs about a quarter less CPU a move with them (`benchmarks/referee.py`).
"""

import os
import sys

from setuptools import build_meta, setup
from setuptools.build_meta import *  # noqa: F403  # the hooks that stay as they are

MODULES = {
    "engines": "channel engine gtp gtp_clock process uci uci_messages usage",
    "games": "annotations chess chess960 clean_text csa game go go_rules pgn san sfen sgf shogi",
    "play": (
        "adjudication clock engine_pool game_runner go_referee meter played_moves referee worker"
    ),
}
#: The extension module that contains all of them.
GROUP = "ringmaster.compiled"
#: Packages that compiling needs; types come from the last two.
REQUIREMENTS = ["mypy>=1.18,<3", "msgspec>=0.19", "mypy_extensions>=1"]
#: Lenient: most dependencies are missing during a build.
MYPY_OPTIONS = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent"]

IS_COMPILED = os.environ.get("RINGMASTER_COMPILE") == "1"


def sources():
    """Return the paths of the compiled modules, relative to this file."""
    return [
        f"ringmaster/{package}/{module}.py"
        for package, modules in MODULES.items()
        for module in modules.split()
    ]


def extensions():
    """Translate the modules to C and return the extension modules to build."""
    from mypyc.build import mypycify

    return mypycify([*MYPY_OPTIONS, *sources()], opt_level="2", debug_level="0", group_name=GROUP)


def get_requires_for_build_wheel(config_settings=None):
    requirements = build_meta.get_requires_for_build_wheel(config_settings)
    return requirements + (REQUIREMENTS if IS_COMPILED else [])


def get_requires_for_build_editable(config_settings=None):
    requirements = build_meta.get_requires_for_build_editable(config_settings)
    return requirements + (REQUIREMENTS if IS_COMPILED else [])


if __name__ == "__main__":
    # Commands that only read the metadata run without mypyc.
    builds = not {"bdist_wheel", "editable_wheel", "build_ext"}.isdisjoint(sys.argv)
    setup(ext_modules=extensions() if IS_COMPILED and builds else [])
