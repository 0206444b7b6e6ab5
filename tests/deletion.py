"""Copies of the package without papers: ``python -m tests.deletion [--full] [PAPER ...]``.

Each copy loses the folders of papers, their tests and their entry points, and is installed anew,
without dependencies. Without all papers the core's tests pass; without one of them every module is
imported, every help is printed, every preset is shown, and the first laws of the cells hold (all of
them run without all papers). With ``--full`` all tests of every copy run.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Collection, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAWS = "recursion or every"
"""The laws that run without one paper: recursions, and whole tables."""


def papers() -> list[str]:
    """The folders of papers."""
    folders = (ROOT / "dgltrees" / "papers").iterdir()
    return sorted(each.name for each in folders if (each / "__init__.py").exists())


def copy_without(deleted: Collection[str], folder: Path) -> Path:
    """A copy of the checkout without some papers, or without the folder of papers.

    New files count in its folders; others at the root are the user's.

    Returns:
        the interpreter of a new environment in which the copy is installed; other packages are
        those of this interpreter.
    """
    tracked = _files("--cached")
    folders = {f"{name.split('/')[0]}/" for name in tracked if "/" in name}
    new = [name for name in _files("--others") if name.startswith((*folders,))]
    for name in [*tracked, *new]:
        if (ROOT / name).exists():  # not deleted since the last commit
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    whole = set(deleted) == set(papers())
    for part in ("dgltrees", "tests"):
        for name in [""] if whole else deleted:
            shutil.rmtree(folder / part / "papers" / name, ignore_errors=True)
    settings = (folder / "setup.cfg").read_text(encoding="utf-8")
    for name in deleted:
        settings = re.sub(rf"^.*dgltrees\.papers\.{name}\b.*\n", "", settings, flags=re.MULTILINE)
    (folder / "setup.cfg").write_text(settings, encoding="utf-8")
    return install(folder)


def _files(which: str) -> list[str]:
    listed = ["git", "ls-files", "-z", "--exclude-standard", which]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return files.split("\0")[:-1]


def install(folder: Path) -> Path:
    """Install a copy in an environment of its own, whose other packages are those of this one."""
    environment = folder / ".venv"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    scheme = {"base": str(environment), "platbase": str(environment)}
    packages = Path(sysconfig.get_path("purelib", "venv", scheme))
    # packages of this environment are found after the copy's own
    others = "\n".join(path for path in sys.path if Path(path).name == "site-packages")
    (packages / "others.pth").write_text(others + "\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    options = ["--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([*pip, *options, "--editable", str(folder)], cwd=folder, check=True)
    return python


def passes(command: Sequence[str], folder: Path) -> bool:
    """Run a command in a copy; false if it fails."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return not subprocess.run(command, cwd=folder, env=environment, check=False).returncode


def check(deleted: Collection[str], *, full: bool) -> bool:
    """Check a copy without some papers; false if it fails."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "copy"
        folder.mkdir()
        python = str(copy_without(deleted, folder))
        print(f"without {', '.join(deleted)}:", flush=True)
        tests = [python, "-m", "pytest", "-q"]
        if full or set(deleted) == set(papers()):
            return passes([*tests, "-n", "auto", "--dist", "loadfile"], folder)
        commands = [python, "-m", "tests.walk"], [*tests, "tests/cells/test_laws.py", "-k", LAWS]
        failed = [command for command in commands if not passes(command, folder)]
        return not failed


def main() -> None:
    """Delete each paper by itself, then all of them; or those that are named, all at once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="run all tests of every copy")
    parser.add_argument("papers", nargs="*", choices=[*papers(), []])
    asked = parser.parse_args()
    copies = [asked.papers] if asked.papers else [*([name] for name in papers()), papers()]
    failed = [deleted for deleted in copies if not check(deleted, full=asked.full)]
    for deleted in failed:
        print(f"failed without {', '.join(deleted)}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
