"""Entry point of ``python -m dgltrees``, the same as the command ``dgltrees``."""

from __future__ import annotations

import gc
import os
import signal
import sys


def main() -> int:
    """Run the command line; Ctrl-C prints no traceback, even during start-up.

    Returns:
        the exit status.
    """
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:  # a program in the background may ignore the signal
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Large pages, where torch on Linux can have them, for the gradients of large vocabularies.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    from dgltrees.cli import main as run_command

    try:
        signal.signal(signal.SIGINT, usual)
        return run_command()
    except KeyboardInterrupt:  # outside of any command
        print("dgltrees: stopped", file=sys.stderr)
        return 130
    finally:
        if "torch" not in sys.modules:  # of helps and lists, nothing needs to be collected
            gc.freeze()  # the collector, at the end, would take a third of their time


if __name__ == "__main__":
    sys.exit(main())
