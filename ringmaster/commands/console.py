"""Exit statuses, and text for standard output and standard error."""

from __future__ import annotations

import sys
from typing import Any

from ringmaster.errors import StoreUnwritable

#: Exit statuses: 0 done, 1 a reported error, 2 usage, 3 interrupted, 4 an internal error.
DONE, REPORTED, USAGE, INTERRUPTED, INTERNAL = range(5)


def complain(message: str) -> None:
    """Print a message of the program to standard error."""
    print(f"ringmaster: {message}", file=sys.stderr)


def say(text: str) -> None:
    """Print to standard output.  Raises StoreUnwritable if the output cannot be written."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StoreUnwritable(f"cannot write the output: {error.strerror}") from error


def say_data(data: dict[str, Any]) -> None:
    """Print data as JSON."""
    import json

    say(json.dumps(data, indent=2) + "\n")
