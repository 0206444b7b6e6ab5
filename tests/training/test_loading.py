from dgltrees.training.loading import automatic_batch_size, training_sampler
from dgltrees.training.run import prepare
from tests.training.samples import quick


def test_an_epoch_of_small_data_has_thirty_steps() -> None:
    sizes = {10: 4, 150: 5, 900: 30, 959: 31, 100_000: 32}
    assert {count: automatic_batch_size(count) for count in sizes} == sizes
    data = prepare(settings := quick("classify")).splits.train
    for size, most in [(None, 4), (9, 9)]:
        batches = training_sampler(settings.replace("training", batch_size=size), data).batches()
        assert max(map(len, batches)) == most
