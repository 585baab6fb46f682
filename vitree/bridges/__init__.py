"""The steps of a model, with their derivatives, for other programs: PyTorch, JAX, CasADi, SciPy and python-control.

``steps.py`` is all that a bridge asks of vitree: states in rows, and gradients swept back over the steps.
``coordinates.py`` has the gradients by the coordinates of quaternions. Each of the others needs the package after
which it is called. ``state_space.py`` needs SciPy, and python-control for one of its functions.
"""
