"""Watches for keys and tells what happens; run by test_keys.py in a terminal.

usage: key_script.py MODE [FILE], MODE one of: watch, keys, hangup, raise, once.  Lines go to FILE,
or to standard output.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios

from ringmaster.reporting.keys import CTRL_X, KeyReader

mode = sys.argv[1]
output = open(sys.argv[2], "a", buffering=1) if len(sys.argv) > 2 else sys.stdout


def say(text: str) -> None:
    print(text, file=output, flush=True)


def terminal_mode() -> str:
    fd = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    flags = termios.tcgetattr(fd)[3]
    os.close(fd)
    return "cooked" if flags & termios.ICANON and flags & termios.ECHO else "raw"


def watch(keys: KeyReader) -> None:
    say("ready " + ("watching" if keys.fileno() is not None else "blind"))
    pressed = ""
    while CTRL_X not in pressed:
        pressed += keys.read()
        fd = keys.fileno()
        if fd is None and mode == "hangup":
            say("gone")
            return
        # a short wait as in a main loop: `fg` need not come with a signal
        select.select([] if fd is None else [fd], [], [], 0.02)
    if mode == "keys":
        say("keys " + pressed.rstrip(CTRL_X))
    say("stop")


if mode == "hangup":
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
try:
    with KeyReader(lambda: bool(say("suspending")) or True, lambda: say("resuming")) as keys:
        if mode == "raise":
            say("inside " + terminal_mode())
            raise RuntimeError
        if mode == "once":
            say("ready " + ("watching" if keys.fileno() is not None else "blind"))
        else:
            watch(keys)
except RuntimeError:
    say("raised")
except KeyboardInterrupt:
    say("interrupted")
try:
    say("after " + terminal_mode())
except OSError:
    say("after nothing")
