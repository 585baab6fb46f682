"""Environments of Gymnasium for learning: one instance of a task, or many in one call. Needs gymnasium (extra "gym").

A :class:`Task` says what is to be learnt, by functions of the states of all instances at once. :class:`Env` and
:class:`VectorEnv` make environments of it. Tasks with names are in ``vitree.gym.tasks``; the import of this package
registers them, so ``gymnasium.make("vitree/CartPole-v0")`` finds them.
"""

from vitree.errors import MissingExtraError

try:
    import gymnasium as _gymnasium  # noqa: F401
except ImportError as error:
    raise MissingExtraError("gymnasium", "gym", "vitree.gym") from error

from vitree.gym import tasks, terms
from vitree.gym.env import Env
from vitree.gym.observations import PolicyInterface
from vitree.gym.onnx import OnnxPolicy
from vitree.gym.randomization import Command, HeightScan, Pushes, Randomization
from vitree.gym.registration import register as _register
from vitree.gym.sb3 import sb3_vec_env
from vitree.gym.state import State
from vitree.gym.task import Task
from vitree.gym.vector_env import VectorEnv

__all__ = ["Command", "Env", "HeightScan", "OnnxPolicy", "PolicyInterface", "Pushes", "Randomization", "State", "Task",
           "VectorEnv", "sb3_vec_env", "tasks", "terms"]  # fmt: skip

_register()
