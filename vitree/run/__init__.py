"""Runs: simulations and their trajectories, comparisons of methods, benchmarks."""
