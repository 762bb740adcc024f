"""What of ringmaster is compiled, and when.

Every move of every game goes through the modules below.  mypyc makes extension modules of
them as they are; the program does the same with and without, by the same tests, and needs
about a quarter less CPU a move with them (`benchmarks/referee.py`).

A wheel is compiled where there is a C compiler, an editable installation is not.
`RINGMASTER_COMPILE=1` compiles in any case, or fails; `RINGMASTER_COMPILE=0` never does.
Without either, what cannot be compiled is left as Python, and that is said.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile

MODULES = {
    "engines": (
        "channel engine error_output exchange gtp gtp_clock info pipes process tick uci universal "
        "usage usi"
    ),
    "games": (
        "annotations chess chess960 csa game go go_rules pgn pgn_text san san_writer sfen sgf "
        "shogi shogi_moves text vertices"
    ),
    "play": (
        "adjudication clock engine_pool game_runner go_referee meter pondering "
        "referee shogi_referee worker"
    ),
}

#: Written in C, and the same in Python for where there is no compiler.
WRITTEN_IN_C = {"ringmaster.engines._pipes": "ringmaster/engines/_pipes.c"}

#: The extension module that the others are parts of, without mypyc's ending.
GROUP = "ringmaster.compiled"

#: What compiling needs; types come from the packages that have any.
REQUIREMENTS = ["mypy>=1.18,<3", "msgspec>=0.19", "mypy_extensions>=1"]

#: Lenient where `scripts/check` is strict: most packages are not there while building.
_MYPY_OPTIONS = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent"]

_PROBE = "#include <Python.h>\nint main(void) { return 0; }\n"


def is_demanded() -> bool:
    """Whether it is an error if nothing can be compiled."""
    return os.environ.get("RINGMASTER_COMPILE") == "1"


def wanted(*, wheel: bool) -> bool:
    """Whether to compile.  Raises SystemExit for a setting that is neither 0 nor 1."""
    setting = os.environ.get("RINGMASTER_COMPILE", "")
    if setting not in ("", "0", "1"):
        sys.exit(f"RINGMASTER_COMPILE: {setting!r} is neither 0 nor 1")
    if setting:
        return setting == "1"
    return wheel and sys.implementation.name == "cpython" and _can_compile()


def _can_compile() -> bool:
    """Whether there are a C compiler and the headers of Python."""
    if os.name == "nt":
        return False
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()
    headers = sysconfig.get_paths()["include"]
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "probe.c")
        with open(source, "w") as file:
            file.write(_PROBE)
        command = [*compiler, f"-I{headers}", "-c", source, "-o", os.path.join(folder, "probe.o")]
        try:
            return subprocess.run(command, capture_output=True).returncode == 0
        except OSError:
            return False


def sources() -> list[str]:
    """Return the paths of what is compiled, from the root of the project."""
    return [
        f"ringmaster/{package}/{module}.py"
        for package, modules in MODULES.items()
        for module in modules.split()
    ]


def say(reason: object) -> None:
    """Tell why nothing is compiled."""
    print(f"ringmaster is not compiled, and plays no worse: {reason}", file=sys.stderr)


def extensions(*, wheel: bool) -> list:
    """Return the extension modules, their C code written; none where they are not wanted
    or cannot be had.  Raises what keeps them from being made where they are demanded."""
    if not wanted(wheel=wheel):
        return []
    try:
        return _make()
    except (ImportError, SystemExit) as error:
        if is_demanded():
            raise
        say(error)
        return []


def _make() -> list:
    from mypyc.build import mypycify
    from setuptools import Extension

    made = mypycify([*_MYPY_OPTIONS, *sources()], opt_level="2", debug_level="0", group_name=GROUP)
    for extension in made:
        # a warning of a compiler that mypyc does not know is no reason to do without
        extension.extra_compile_args = [a for a in extension.extra_compile_args if a != "-Werror"]
    return made + [Extension(name, [source]) for name, source in WRITTEN_IN_C.items()]
