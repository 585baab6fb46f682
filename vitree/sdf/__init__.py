"""SDFormat: models and worlds of Gazebo."""

from vitree.sdf.reader import check_sdf, load_sdf, read_sdf

__all__ = ["check_sdf", "load_sdf", "read_sdf"]
