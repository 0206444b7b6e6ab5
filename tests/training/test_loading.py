import pickle

import pytest
from torch.testing import assert_close

from dgltrees.settings.catalog import load_preset, preset_names
from dgltrees.settings.tasks import TASKS
from dgltrees.training.loading import Loader, automatic_batch_size, training_sampler
from dgltrees.training.run import prepare
from tests.training.samples import PLANS, quick

_PRESETS = {
    load_preset(name).task.name: name
    for name in preset_names()
    if name in PLANS or load_preset(name).data.train is not None
}
"""A preset with data of each task."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("task", sorted(set(TASKS) & set(_PRESETS)))
def test_what_goes_to_the_workers_can_be_pickled(task: str) -> None:
    ready = prepare(settings := quick(_PRESETS[task]))
    data = ready.splits.train
    chunks = Loader(ready.settings.task, data, 1).ahead.dataset
    ids = training_sampler(settings, data).batches()[0]
    (batch, targets), *_ = pickle.loads(pickle.dumps(chunks))[[ids]]
    expected, wanted = ready.settings.task.batch(data, ids)
    assert_close(targets, wanted)
    assert batch.num_nodes == expected.num_nodes


def test_an_epoch_of_small_data_has_thirty_steps() -> None:
    sizes = {10: 4, 150: 5, 900: 30, 959: 31, 100_000: 32}
    assert {count: automatic_batch_size(count) for count in sizes} == sizes
    data = prepare(settings := quick("classify")).splits.train
    for size, most in [(None, 4), (9, 9)]:
        batches = training_sampler(settings.replace("training", batch_size=size), data).batches()
        assert max(map(len, batches)) == most
