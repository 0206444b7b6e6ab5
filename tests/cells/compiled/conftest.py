import pytest
import torch


@pytest.fixture(autouse=True)
def _traced(request: pytest.FixtureRequest) -> None:
    """Skip what no cell is compiled for; ``compile_report`` says so there."""
    by_hand = "test_laws" in request.node.nodeid and "compiled]" not in request.node.name
    if torch.__version__.startswith("2.2.") and not by_hand:
        pytest.skip("torch 2.2 writes no values into the graph of a trace (KeyError: 'val')")
