"""Records of what the package does, to compare with after a change that should keep it.

A golden is a module of this folder with ``record() -> dict[str, Any]``: rows by key, of what JSON
holds. It is stored in a file of the same name, a row per line. A module may say ``fast = record``,
or have a function ``fast`` that makes some of the rows: ``test_golden.py`` compares those, which
should take a second or two and should come out the same on every processor.
"""
