import torch
from hypothesis import HealthCheck, settings

# One thread a process: the suite runs on every core, and sums come out the same.
torch.set_num_threads(1)

settings.register_profile(
    "suite",
    deadline=None,
    max_examples=20,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("suite")


def pytest_runtest_teardown() -> None:
    """Training flushes numbers near zero in its process; the next test wants them."""
    torch.set_flush_denormal(False)
