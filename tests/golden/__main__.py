"""``python -m tests.golden write|compare [NAMES...]``: every golden without names."""

from __future__ import annotations

import multiprocessing
import sys
import time

from tests.golden import rows


def main(words: list[str]) -> int:
    """Write or compare goldens; 1 where something differs."""
    if not words or words[0] not in ("write", "compare"):
        print(__doc__, file=sys.stderr)
        return 2
    unknown = set(words[1:]) - set(rows.names())
    if unknown:
        print(f"no golden {min(unknown)}; there are {', '.join(rows.names())}", file=sys.stderr)
        return 2
    status = 0
    for name in words[1:] or rows.names():
        start = time.monotonic()
        # a process each, so that a row does not depend on the goldens before it
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            now = pool.apply(rows.recorded, (name,)) or {}
        seconds = f"{time.monotonic() - start:.0f} s"
        lines = rows.differences(rows.stored(name), now)
        if words[0] == "write":
            rows.store(name, now)
            print(f"{name}: wrote {len(now)} rows in {seconds}", flush=True)
            continue
        status |= bool(lines)
        differ = sum(not line.startswith(" ") for line in lines)
        print(f"{name}: {len(now)} rows, {differ} differ, {seconds}", *lines, sep="\n", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
