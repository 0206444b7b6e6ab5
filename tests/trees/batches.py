"""What a batch says of its nodes, read the slow way."""

from dgltrees import TreeBatch


def children(batch: TreeBatch) -> list[list[int]]:
    """The children of each node by position, checked to be complete."""
    positions: list[dict[int, int]] = [{} for _ in range(batch.num_nodes)]
    for child, parent, pos in zip(
        *(t.tolist() for t in (batch.src, batch.dst, batch.edata["pos"]))
    ):
        positions[parent][pos] = child
    for each in positions:
        assert sorted(each) == list(range(len(each)))
    return [[each[pos] for pos in sorted(each)] for each in positions]
