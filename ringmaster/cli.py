"""The command line, from its words to an exit status: 0 done, 1 a reported error, 2 usage,
3 interrupted, 4 an internal error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module

import ringmaster
from ringmaster.commands import command_line
from ringmaster.commands.console import DONE, INTERNAL, INTERRUPTED, REPORTED, USAGE, complain, note
from ringmaster.control.safe_bounds import OutOfBounds, bounds
from ringmaster.errors import ControlFileError, RingmasterError, UsageError


def run(argv: Sequence[str]) -> int:
    """Run a command line; return the exit status."""
    try:
        if not argv:
            print(command_line.short_help(), end="", file=sys.stderr)
            return USAGE
        try:
            verb, arguments = command_line.read(argv)
        except SystemExit:  # help, --version
            return DONE
        from ringmaster.storage.connect import retry_read

        module, name = verb.function.split(".")
        function = getattr(import_module(f"ringmaster.commands.{module}"), name)
        with bounds() if getattr(arguments, "safe", False) else nullcontext():
            # a status file may change while it is read; `run` holds the lock, and never reads twice
            status: int = retry_read(lambda: function(arguments))
        return status
    except UsageError as error:
        complain(str(error))
        return USAGE
    except ControlFileError as error:
        # its message names file, line and column itself
        note(str(error))
        return REPORTED
    except RingmasterError as error:
        complain(str(error))
        return REPORTED
    except OutOfBounds as error:
        complain(str(error))
        return REPORTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # the reader of the output has ended (`| head`)
        return DONE
    except (Exception, SystemExit) as error:
        if isinstance(error, OverflowError) and "timestamp" in str(error):
            complain("the clock of this computer is past the year 2262, where Python's time ends")
            return REPORTED
        import traceback

        note(traceback.format_exc())
        complain(
            "internal error; no recorded result is lost. Please report it, with the lines above, "
            "the control file, and this version: " + ringmaster.__version__
        )
        return INTERNAL
