"""A demonstration: a tensor aggregation and a sum with as many parameters, on ListOps."""

from __future__ import annotations

from pathlib import Path

from dgltrees.commands.arguments import resumable
from dgltrees.commands.plots import has_matplotlib, learning_curve
from dgltrees.errors import ConfigError
from dgltrees.papers.tensor_tree_lstm.data.generate_listops import make_listops
from dgltrees.settings.catalog import load_preset
from dgltrees.tasks.task import ACCURACY
from dgltrees.training.run import train
from dgltrees.training.trained import load

PRESETS = {"hosvd": "listops-demo-hosvd", "sum": "listops-demo-sum"}
TRAIN, TEST, SEED = 22_000, 5_000, 0


@resumable
def demo(*, out: str = "demo") -> None:
    """Make ListOps data, train two models of equal size, and compare them: demo --out DIR.

    Three minutes on two cores.

    Arguments:
        out: folder of the data and the runs; an interrupted demonstration is resumed there.
    """
    run_demo(Path(out))


def run_demo(out: Path) -> dict[str, float]:
    """Make ListOps data from a seed, train two Tree-LSTMs of equal size, and compare them.

    The data are in ``out/listops``, the run directories are ``out/hosvd`` and ``out/sum``, the
    learning curves are in ``out/curve.png``. An interrupted demonstration is resumed.

    Arguments:
        out: the folder for data, runs and curves.

    Returns:
        the accuracy on the held-out trees of each model, and of the majority class.

    Raises:
        ConfigError: the folder contains other ListOps data.
    """
    data = out / "listops"
    if not data.exists():
        make_listops(data, train=TRAIN, valid=0, test=TEST, seed=SEED)
    sizes = [(data / name).read_bytes().count(b"\n") for name in ("train.tsv", "test.tsv")]
    if sizes != [TRAIN, TEST]:
        raise ConfigError(f"expected the demonstration's data in {data}, got others; change --out")
    print(f"ListOps: {TRAIN:,} training and {TEST:,} held-out trees, seed {SEED}", flush=True)
    lines, results = [], {}
    for name, preset in PRESETS.items():
        settings = load_preset(preset).replace("data", dir=str(out), test=None)
        cell = settings.task.display_name(settings.model)
        print(f"\n{cell}, c = {settings.model['hidden_size']} ({preset})", flush=True)
        parameters = train(settings, out / name)["parameters"]
        report = load(out / name).evaluate(str(data / "test.tsv"))
        results.update({name: report["accuracy"], "majority": report["majority_accuracy"]})
        lines.append(
            f"{cell:14}{report['accuracy']:>9.2%}{parameters['aggregator']:>14,}"
            f"{parameters['cell']:>12,}{parameters['model']:>12,}"
        )
    print(f"\naccuracy on {TEST:,} held-out trees; parameters of one aggregation as counted in the")
    print("paper, of the cell, and of the whole model\n")
    print(f"{'':14}{'accuracy':>9}{'aggregation':>14}{'cell':>12}{'model':>12}")
    print("\n".join([*lines, f"{'majority class':14}{results['majority']:>9.2%}"]))
    curve, runs = out / "curve.png", [out / name for name in PRESETS]
    learning_curve(runs, curve, [ACCURACY])
    if has_matplotlib():
        print(f"\nlearning curves: {curve}")
    print(f"run directories: {', '.join(str(out / name) for name in PRESETS)}")
    return results
