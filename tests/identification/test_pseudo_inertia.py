"""Log-Cholesky coordinates of inertias: every body possible, derivatives, and Pinocchio's own."""

from __future__ import annotations

import numpy as np
import pytest
from random_models import random_inertia, random_rotation

import vitree as vt
from vitree.spatial.pseudo_inertia import (
    ENTRIES,
    inertial_parameters,
    log_cholesky,
    log_cholesky_derivatives,
    mass_com_inertia,
    mass_com_inertia_derivatives,
    of_log_cholesky,
    pseudo_inertia,
)

#: Where ours are in Pinocchio's ten parameters, which have Iyy before Ixz.
OF_PINOCCHIO = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


def bodies(count=10):
    rng = np.random.default_rng(0)
    for _ in range(count):
        mass = rng.uniform(0.1, 5.0)
        R = random_rotation(rng)
        yield mass, 0.3 * rng.normal(size=3), R @ random_inertia(rng, mass) @ R.T


def differences(function, x, step=1e-6):
    return np.column_stack([(function(x + step * e) - function(x - step * e)) / (2 * step) for e in np.eye(len(x))])


def test_the_pseudo_inertia_is_the_second_moment_of_the_mass():
    rng = np.random.default_rng(1)
    points, weights = rng.normal(size=(7, 3)), rng.uniform(0.1, 1.0, 7)
    mass, com = weights.sum(), weights @ points / weights.sum()
    about = sum(w * ((x - com) @ (x - com) * np.eye(3) - np.outer(x - com, x - com))
                for w, x in zip(weights, points, strict=True))  # fmt: skip
    J = pseudo_inertia(inertial_parameters(mass, com, about))
    ones = np.column_stack((points, np.ones(7)))
    np.testing.assert_allclose(J, (ones.T * weights) @ ones, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("body", list(bodies()))
def test_coordinates_lead_to_the_body_and_back(body):
    parameters = inertial_parameters(*body)
    z = log_cholesky(parameters, "body")
    np.testing.assert_allclose(of_log_cholesky(z), parameters, rtol=1e-12, atol=1e-13)
    mass, com, inertia = mass_com_inertia(parameters)
    np.testing.assert_allclose(mass, body[0], rtol=1e-14)
    np.testing.assert_allclose(com, body[1], rtol=1e-13)
    np.testing.assert_allclose(inertia, body[2], rtol=1e-12, atol=1e-13)


def test_all_coordinates_are_possible_bodies():
    rng = np.random.default_rng(2)
    for z in 0.5 * rng.normal(size=(50, 10)):
        parameters = of_log_cholesky(z)
        assert np.linalg.eigvalsh(pseudo_inertia(parameters))[0] > 0
        mass, _, inertia = mass_com_inertia(parameters)
        moments = np.linalg.eigvalsh(inertia)
        assert mass > 0 and moments[0] > 0 and moments[2] < moments[0] + moments[1]
        np.testing.assert_allclose(log_cholesky(parameters, "body"), z, rtol=1e-7, atol=1e-7)


def test_derivatives_are_those_of_differences():
    rng = np.random.default_rng(3)
    for z in 0.5 * rng.normal(size=(10, 10)):
        found = log_cholesky_derivatives(z)
        np.testing.assert_allclose(found, differences(of_log_cholesky, z), rtol=1e-7, atol=1e-8 * np.abs(found).max())

    def entries(parameters):
        mass, com, inertia = mass_com_inertia(parameters)
        return np.array([mass, *com, *(inertia[at] for at in ENTRIES)])

    for body in bodies():
        parameters = inertial_parameters(*body)
        found = mass_com_inertia_derivatives(parameters)
        np.testing.assert_allclose(found, differences(entries, parameters), rtol=1e-6, atol=1e-7 * np.abs(found).max())


def test_pinocchio_has_the_same_coordinates():
    pin = pytest.importorskip("pinocchio")
    rng = np.random.default_rng(4)
    for z in 0.7 * rng.normal(size=(10, 10)):
        theirs = pin.LogCholeskyParameters(z)
        np.testing.assert_allclose(of_log_cholesky(z), theirs.toDynamicParameters()[OF_PINOCCHIO], rtol=1e-12,
                                   atol=1e-13)  # fmt: skip
        np.testing.assert_allclose(log_cholesky_derivatives(z), theirs.calculateJacobian()[OF_PINOCCHIO], rtol=1e-12,
                                   atol=1e-12)  # fmt: skip
        np.testing.assert_allclose(pseudo_inertia(of_log_cholesky(z)), theirs.toPseudoInertia().toMatrix(), rtol=1e-12,
                                   atol=1e-13)  # fmt: skip


@pytest.mark.parametrize(("mass", "inertia", "text"), [
    (0.0, np.eye(3), 'the mass of "tool" is 0 kg'), (1.0, np.zeros((3, 3)), '"tool" is a point mass'),
    (1.0, np.diag([1.0, 1.0, 3.0]), 'moments of "tool" violate the triangle inequality'),
])  # fmt: skip
def test_bodies_without_coordinates_are_told(mass, inertia, text):
    with pytest.raises(vt.ModelError, match=text):
        log_cholesky(inertial_parameters(mass, np.zeros(3), inertia), "tool")


def test_thin_bodies_are_taken_as_a_little_thicker():
    """A plate is the limit of the coordinates."""
    plate = inertial_parameters(2.0, np.array([0.1, 0.0, 0.0]), np.diag([0.1, 0.2, 0.3]))
    near = of_log_cholesky(log_cholesky(plate, "plate"))
    np.testing.assert_allclose(near, plate, rtol=2e-4, atol=1e-12)
    assert np.linalg.eigvalsh(pseudo_inertia(near))[0] > 0
