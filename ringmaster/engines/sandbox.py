"""Run an engine in a sandbox by bubblewrap: no network, and nothing to write to.

The engine sees the file system read-only, without /tmp and /run: their sockets lead out of
the sandbox.  Its program's folder and its working directory are visible even there.
/dev/shm is its own and is the only place to write to.  When bubblewrap is killed, the kernel
ends every process inside, detached ones too.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Sequence
from typing import Final

from ringmaster.errors import EngineNotStarted

#: Processes of bubblewrap itself: outside, and the first one inside.
OWN_PROCESSES: Final = 2

_HIDDEN: Final = ("/tmp", "/run")


def sandboxed(command: Sequence[str], cwd: str | None) -> list[str]:
    """Return the command that runs `command` in a sandbox.

    Raises EngineNotStarted without bubblewrap, FileNotFoundError without the program.
    """
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        raise EngineNotStarted(
            "sandbox=True needs bubblewrap (Linux): install the package bubblewrap"
        )
    folder = os.path.abspath(cwd or os.getcwd())
    program = shutil.which(os.path.join(folder, command[0]) if "/" in command[0] else command[0])
    if program is None:
        raise FileNotFoundError(errno.ENOENT, "no such program", command[0])
    words = [bubblewrap, "--unshare-all", "--die-with-parent", "--cap-drop", "ALL"]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for hidden in _HIDDEN:
        words += ["--tmpfs", hidden]
    for visible in {folder, os.path.dirname(os.path.abspath(program))}:
        if any(os.path.commonpath([hidden, visible]) == hidden for hidden in _HIDDEN):
            words += ["--ro-bind", visible, visible]
    for hidden in _HIDDEN:
        words += ["--remount-ro", hidden]
    return [*words, "--setenv", "TMPDIR", "/dev/shm", "--chdir", folder, "--", *command]
