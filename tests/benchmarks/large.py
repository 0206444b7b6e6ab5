"""Time and peak memory of encoding ten million nodes, from disk to the states of the roots.

``python -m tests.benchmarks.large --nodes 10000000`` writes a forest, and then reads and encodes it
in a new process.
"""

import argparse
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
from numpy.typing import NDArray

from dgltrees.cells import ChildSumTreeLSTM
from dgltrees.models.encoder import TreeEncoder
from dgltrees.models.inputs import WordEmbedding
from dgltrees.models.streaming import encode_roots
from dgltrees.trees import Forest
from dgltrees.trees.segments import offsets_of
from tests.benchmarks.cases import random_binary
from tests.benchmarks.memory import peak_of_process

VOCABULARY = 10_000


def large_forest(nodes: int, seed: int = 0) -> Forest:
    """A forest of about ``nodes`` nodes with a column ``word``.

    Half of them are in binary trees of 10 to 30 leaves, the others in random recursive trees of
    1,000, 10,000 and 100,000 nodes.
    """
    rng = np.random.default_rng(seed)
    pool = [np.asarray(random_binary(rng)) for _ in range(1000)]
    pool += [_recursive(rng, size) for size in (1000, 10_000, 100_000)]
    shapes = Forest.build(np.concatenate(pool), offsets=offsets_of([*map(len, pool)]))
    small = rng.integers(0, 1000, int(nodes / 2 / shapes.sizes[:1000].mean()))
    large = [
        np.full(max(1, nodes // 6 // s), 1000 + i) for i, s in enumerate((1000, 10_000, 100_000))
    ]
    trees = shapes.select(rng.permutation(np.concatenate([small, *large])))
    word = rng.integers(0, VOCABULARY, trees.num_nodes).astype(np.int32)
    return Forest(trees.parent, trees.pos, trees.offsets, {"word": word})


def _recursive(rng: np.random.Generator, size: int) -> NDArray[np.int64]:
    """A random recursive tree: the parent of a node is any earlier node, uniformly."""
    parent = (rng.random(size) * np.arange(size)).astype(np.int64)
    parent[0] = -1
    return parent


def _encode(folder: str, hidden: int) -> None:
    """Read, batch and encode the forest in ``folder``, and print time and peak memory."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    words = WordEmbedding("word", VOCABULARY, hidden)
    encoder = TreeEncoder(words, ChildSumTreeLSTM(hidden, hidden))
    start, cpu = time.perf_counter(), time.process_time()
    forest = Forest.load(folder)
    loaded = time.perf_counter()
    roots = encode_roots(encoder, forest)
    print(
        f"{forest.num_nodes} nodes, {len(forest)} trees, largest {forest.sizes.max()}, deepest "
        f"{forest.depths.max()}, hidden {hidden}: read in {loaded - start:.1f} s, encoded in "
        f"{time.perf_counter() - loaded:.1f} s ({time.process_time() - cpu:.1f} s of one CPU for "
        f"both), peak {peak_of_process() / 2**30:.2f} GiB, roots {tuple(roots.shape)}"
    )


def main() -> None:
    """Write a forest, then encode it in a new process, whose peak memory excludes the writing."""
    flags = argparse.ArgumentParser(prog="python -m tests.benchmarks.large")
    flags.add_argument("--nodes", type=int, default=10_000_000)
    flags.add_argument("--hidden", type=int, default=128)
    flags.add_argument("--folder", help="a forest to encode, instead of writing one")
    values = flags.parse_args()
    if values.folder:
        _encode(values.folder, values.hidden)
        return
    with tempfile.TemporaryDirectory() as folder:
        large_forest(values.nodes).save(folder)
        argv = [sys.executable, "-m", "tests.benchmarks.large", "--folder", folder]
        subprocess.run([*argv, "--hidden", str(values.hidden)], check=True)


if __name__ == "__main__":
    main()
