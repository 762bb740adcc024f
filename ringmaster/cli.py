"""The command line, from its words to an exit status: 0 done, 1 a reported error, 2 usage,
3 interrupted, 4 an internal error."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

import ringmaster
from ringmaster.command_line.options import make_parser
from ringmaster.command_line.output import (
    DONE,
    INTERNAL,
    INTERRUPTED,
    REPORTED,
    USAGE,
    complain,
    say,
)
from ringmaster.errors import ControlFileError, RingmasterError, UsageError
from ringmaster.storage.settled import settled

#: What stands in the place of a control file, with the modules that have it.
_VERBS = {
    "new": "scaffold.verbs",
    "import": "scaffold.verbs",
    "positions": "command_line.labelling",
}

#: The module of each action, in `command_line`: imported when the action is asked for, since
#: what most of them need takes longer to import than others take in all.
_ACTIONS = {
    "run": "playing",
    "verify": "playing",
    "show": "showing",
    "report": "showing",
    "export": "exporting",
    "plot": "exporting",
    "export-parameters": "exporting",
    "positions": "labelling",
    "check": "checking",
    "diff": "showing",
    "plan": "forecasting",
    "simulate": "forecasting",
    "reset": "controlling",
    "stop": "controlling",
}


def run(argv: Sequence[str]) -> int:
    """Carry out a command line; returns the exit status."""
    try:
        if argv and argv[0] in _VERBS:
            return _without_control_file(argv[0], argv[1:])
        try:
            arguments = make_parser(_ACTIONS).read(argv)
        except SystemExit:  # --help, --version
            return DONE
        # who plays opens the status file for writing, and is never asked again
        return settled(lambda: _action(arguments.action)(arguments))
    except UsageError as error:
        complain(str(error))
        return USAGE
    except ControlFileError as error:
        # its message names file, line and column itself
        print(error, file=sys.stderr)
        return REPORTED
    except RingmasterError as error:
        complain(str(error))
        return REPORTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # the reader of our output has gone (`| head`): it has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (Exception, SystemExit):
        import traceback

        traceback.print_exc()
        complain(
            "internal error; nothing that was recorded is lost. Please report it, with the "
            "lines above, the control file, and this version: " + ringmaster.__version__
        )
        return INTERNAL


def _action(name: str) -> Callable[[argparse.Namespace], int]:
    module = import_module(f"ringmaster.command_line.{_ACTIONS[name]}")
    action: Callable[[argparse.Namespace], int] = getattr(module, name.replace("-", "_"))
    return action


def _without_control_file(verb: str, arguments: Sequence[str]) -> int:
    module = import_module(f"ringmaster.{_VERBS[verb]}")
    module.VERBS[verb](arguments, say, complain)
    return DONE
