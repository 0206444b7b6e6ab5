"""Folders of fitted estimators: written by ``save``, read by ``load``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from dgltrees._files import PathLike, draft_folder
from dgltrees.errors import ConfigError
from dgltrees.estimators.blend import Blend, with_flat_models
from dgltrees.estimators.ensemble import member_folder, plain_members, restore_members
from dgltrees.settings.values import plain
from dgltrees.training.files import checking
from dgltrees.training.rundir import BLEND, ESTIMATOR, RunDirectory
from dgltrees.training.trained import load_network


class SavedEstimator(BaseEstimator):  # type: ignore[misc]
    """Base class of estimators that are saved as run directories with a file of parameters."""

    def save(self, path: PathLike, *, overwrite: bool = False) -> None:
        """Write the fitted model to a folder, which ``load`` and ``dgltrees predict`` read.

        Arguments:
            path: the folder.
            overwrite: replace a model that :meth:`save` wrote there.

        Raises:
            ConfigError: the path exists and is not a saved model, or ``overwrite`` is false.
        """
        run, target = self._fitted(), Path(path).resolve()  # "." and links have no name to replace
        is_saved = (target / ESTIMATOR).exists()
        if target.exists() and not (overwrite and is_saved):
            cure = "write overwrite=True to replace it" if is_saved else "choose another folder"
            raise ConfigError(f"expected a new folder, got {path}, which exists; {cure}")
        target.parent.mkdir(parents=True, exist_ok=True)
        with draft_folder(target.parent, target.name) as draft:
            folder = draft / target.name
            run.save(folder, self.history_, self.result_)
            runs, is_blend = _identities(folder, self), isinstance(run, Blend)
            values = {"class": type(self).__name__, "runs": runs, "blend": is_blend}
            values.update(self._plain())
            RunDirectory(folder).write_values(ESTIMATOR, values)
            if is_saved:
                target.rename(draft / "replaced")
            folder.rename(target)

    def _plain(self) -> dict[str, Any]:
        """Return parameters and fitted attributes as JSON values."""
        parameters = self.get_params()
        if isinstance(self.random_state, np.random.RandomState):
            parameters["random_state"] = self.run_.settings.training.seed
        members = plain_members(self) if hasattr(self, "members_") else {}
        return {"parameters": plain(parameters), **members}

    @classmethod
    def load(cls, path: PathLike) -> Any:
        """Load a fitted estimator.

        Arguments:
            path: a folder that :meth:`save` wrote.

        Returns:
            the estimator.

        Raises:
            ConfigError: the folder has no estimator, one of another class, or a damaged one.
        """
        folder = RunDirectory(path)
        if not (folder / ESTIMATOR).exists():
            raise ConfigError(
                f"expected a folder that {cls.__name__}.save wrote, got {path}, without {ESTIMATOR}"
            )
        values = folder.values(ESTIMATOR)
        with checking(folder / ESTIMATOR):
            name, parameters = values["class"], values["parameters"]
            runs, is_blend = values["runs"], values["blend"]
        if name != cls.__name__:
            raise ConfigError(f"expected a {cls.__name__} at {path}, got a {name}; use {name}.load")
        estimator = cls(**parameters)
        if "members" in values:
            places = (member_folder(path, k) for k in range(values["members"]))
            restore_members(estimator, [cls.load(place) for place in places], values)
        else:
            estimator._open(folder.path)
            if is_blend and not isinstance(estimator.run_, Blend):
                raise ConfigError(f"missing {BLEND} at {path}; restore it")
        if runs != _identities(folder.path, estimator):
            raise ConfigError(
                f"the files at {path} are those of several models; restore them, or save again"
            )
        estimator._restore(values)
        return estimator

    def _restore(self, values: Mapping[str, Any]) -> None:
        """Set fitted attributes from the values of :meth:`_plain`."""

    def _open(self, folder: PathLike) -> None:
        run = with_flat_models(load_network(RunDirectory(folder)), folder)
        self._take(run, run.directory.metrics(), run.directory.result())


def _identities(folder: PathLike, estimator: Any) -> list[str]:
    """Return the identities of the runs of an estimator in a folder."""
    members = len(getattr(estimator, "members_", []))
    places = [member_folder(folder, k) for k in range(members)] or [Path(folder)]
    return [RunDirectory(place).identity for place in places]
