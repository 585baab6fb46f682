"""convert(): a run as a file of any format."""

from __future__ import annotations

import os
from pathlib import Path

from vitree.errors import InputError
from vitree.results import export, mcap
from vitree.run.trajectory import Trajectory

#: Ending of a file -> function that writes it.
_WRITERS = {
    ".npz": Trajectory.save, ".nc": export.to_netcdf, ".csv": export.to_csv, ".json": export.to_json,
    ".mcap": mcap.to_mcap,
}  # fmt: skip
#: Ending of a file -> parts of a run that the format does not hold.
LEFT_OUT = {
    ".npz": "",
    ".nc": "pictures and the checkpoint",
    ".csv": "settings, monitors, single contacts, pictures and the checkpoint",
    ".json": "pictures and the checkpoint",
    ".mcap": "the checkpoint",
}


def convert(traj: Trajectory, path: str | os.PathLike, contacts: bool = False) -> Path:
    """Write a trajectory to a file, at once or not at all, in the format of its ending: .npz, .nc, .csv, .json, .mcap.

    Parameters
    ----------
    traj : Trajectory
    path : path
    contacts : bool
        Write the contacts, one row each, in place of the records; .csv only.

    Returns
    -------
    Path

    Raises
    ------
    MissingExtraError
        If a package that the format needs is not installed.
    InputError
        If the ending is of no known format, or the file cannot be written, or there are no contacts.
    """
    ending = Path(path).suffix.lower()
    if ending not in _WRITERS:
        raise InputError(f'{path} has the ending "{ending}"; a run is written as one of {", ".join(_WRITERS)}')
    if contacts:
        if ending != ".csv":
            raise InputError(
                f"{path}: a table of contacts is written as .csv; contacts= is for that, and other formats have them "
                "beside the records"
            )  # fmt: skip
        return export.to_csv(traj, path, contacts=True)
    return _WRITERS[ending](traj, path)
