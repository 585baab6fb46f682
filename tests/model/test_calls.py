"""Calls on one state that compiled code answers have the bits and the errors of the methods in Python."""

from __future__ import annotations

import contextlib
import copy
import functools
import gc
import inspect
import itertools
import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest
from closed_chains import finger
from loaded_models import conservative_loads, constrained_tree, driving_loads, random_tree
from random_models import chain_flat, random_flat
from state_methods import CALLS, MAPS

import vitree as vt
from vitree._core import maps, scalar
from vitree.mechanism.flat import KINDS
from vitree.model.dynamics import AbaDerivatives, RneaDerivatives
from vitree.model.forces import Accelerations
from vitree.model.model import BYPASSED

core = scalar()
#: Methods that compiled code answers, and their arguments.
METHODS = CALLS | MAPS

#: The named tuples that methods return.
MADE = {
    "forward_dynamics": Accelerations, "rnea_derivatives": RneaDerivatives, "aba_derivatives": AbaDerivatives,
}  # fmt: skip


def of_kinds(seed, **more):
    flat, _, _ = random_tree(seed, kinds=KINDS, **more)
    return flat


def rubbed(flat):
    """The tree with Coulomb friction on the joints of one coordinate."""
    friction = np.zeros(len(flat.damping))
    for joint in flat.joints:
        if joint.v_slice.stop - joint.v_slice.start == 1:
            friction[joint.v_slice] = 0.3
    return replace(flat, friction=friction)


def loaded(seed, loads, **more):
    flat, _, _ = random_tree(seed, **more)
    return replace(flat, loads=loads(flat))


FLATS = {
    **{kind: random_flat(np.random.default_rng(k), 4, (kind,)) for k, kind in enumerate(KINDS)},
    **{f"floating {kind}": random_flat(np.random.default_rng(k), 5, (kind,), "free") for k, kind in enumerate(KINDS)},
    "all kinds": of_kinds(1, nbody=9), "all kinds, floating": of_kinds(2, nbody=12, base="free"),
    "damped": of_kinds(3, nbody=8, damping=True), "rubbing": rubbed(of_kinds(4, nbody=8, damping=True)),
    "massless": random_flat(np.random.default_rng(5), 7, massless=True),
    "loads with potentials": loaded(6, conservative_loads), "other loads": loaded(7, driving_loads),
    "chain": chain_flat(3), "as large as small ones get": chain_flat(64), "large": chain_flat(65),
    "large, all kinds": of_kinds(8, nbody=80),
}  # fmt: skip


def prescribed():
    tree = vt.Tree("prescribed")
    one = tree.world.add(vt.tx("drive", kinematic=True), vt.body("cart", 1.0))
    one.add(vt.ry("swing"), vt.tz(-1.0), vt.body("mass", 0.3))
    return tree.compile()


class Bowl(vt.Potential):
    content = ("bowl",)

    def energy(self, model, q):
        return 2.0 * float(q[0]) ** 2


def in_python():
    tree = vt.Tree("written")
    tree.world.add(vt.rx("a"), vt.tz(-1.0), vt.body("one", 1.0))
    tree.load(Bowl())
    return tree.compile()


MODELS = {name: vt.Model(flat) for name, flat in FLATS.items()}
MODELS |= {
    "constraints": constrained_tree(1)[0], "prescribed": prescribed(), "coupled": finger(),
    "reduced": finger().reduced(), "euler": MODELS["all kinds, floating"].euler(), "written in Python": in_python(),
    "arm6": vt.load_urdf(vt.find_robot("arm6")), "pendulum": vt.load_urdf(vt.find_robot("double_pendulum")),
    "talos": vt.load_urdf(vt.find_robot("talos"), base="free"),
}  # fmt: skip
#: Models that Python's methods are for.
ELSEWHERE = {"reduced"}


def careful(model):
    """The same model, all of whose methods are those in Python."""
    twin = copy.deepcopy(model)
    vars(twin)["_calls"] = None
    return twin


TWINS = {name: careful(model) for name, model in MODELS.items()}


def state(model, rng, off=0.0):
    """Values for the letters of METHODS; quaternions are off unit length by that."""
    q, r = model.random_configuration(rng), model.random_configuration(rng)
    for i in model._quaternions:
        q[i : i + 4] *= 1.0 + off
        r[i : i + 4] *= 1.0 - off
    frame = model.frame_names[int(rng.integers(len(model.frame_names)))]
    return {"q": q, "r": r, "v": rng.normal(size=model.nv), "f": frame}


def outcome(model, name, given, more=None):
    """The result of a method in bits, or its error in words."""
    try:
        result = getattr(model, name)(*given, **(more or {}))
    except Exception as error:
        return type(error), str(error), getattr(error, "argument", None)
    return in_bits(result)


def in_bits(result):
    if isinstance(result, dict):
        return dict, [(key, in_bits(value)) for key, value in result.items()]
    if isinstance(result, tuple):
        return type(result), [in_bits(part) for part in result]
    x = np.asarray(result)
    return type(result), x.dtype.str, x.shape, x.tobytes()


def call_of(name):
    """The compiled call of a method."""
    return maps().MapCall(name) if name in MAPS else core.Call(name, MADE.get(name))


def tables_of(model, name):
    """What the call needs of a model."""
    return model._maps if name in MAPS else model._calls


def answered(model, name, given, more=None):
    """Whether compiled code answers."""
    call = call_of(name)
    bound = inspect.signature(getattr(vt.Model, name)).bind(model, *given, **(more or {}))
    bound.apply_defaults()
    return call.answer(tables_of(model, name), model, *list(bound.arguments.values())[1 : 1 + call.count]) is not None


def arguments(name, values):
    return [values[letter] for letter in METHODS[name]]


# ---- plain arguments --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("model", MODELS)
def test_the_bits_are_those_of_the_method_in_python(model, name):
    fast, slow = MODELS[model], TWINS[model]
    rng = np.random.default_rng(len(model) + len(name))
    for off in (0.0, 3e-16, 1e-15, -1e-9, 9e-7, 2e-6):
        given = arguments(name, state(fast, rng, off))
        expected = outcome(slow, name, given)
        core.spoil_calls()
        assert outcome(fast, name, given) == expected
        core.spoil_calls()
        assert outcome(fast, name, given) == expected


@pytest.mark.parametrize("name", METHODS)
def test_compiled_code_answers(name):
    rng = np.random.default_rng(1)
    left = set()
    for label, model in MODELS.items():
        if not answered(model, name, arguments(name, state(model, rng, 1e-9))):
            left.add(label)
    energies = ("kinetic_energy", "potential_energy", "lagrangian", "momentum")
    expected = set(ELSEWHERE)
    if name in (*energies, "passive_force", "forward_dynamics"):
        expected.add("written in Python")
    if name in ("passive_force", "forward_dynamics"):
        expected |= {"large", "large, all kinds"}
    assert left == expected


def test_models_are_regular_always_mostly_and_never():
    assert {model.full._regular for model in MODELS.values()} == {True, False}
    model = vt.load_urdf(vt.find_robot("arm6"), base="free")
    assert model.singular
    values = state(model, np.random.default_rng(3))
    for name in METHODS:
        given = arguments(name, values)
        assert outcome(model, name, given) == outcome(careful(model), name, given)
        assert answered(model, name, given) == (
            name not in ("aba", "velocity_from_momentum", "forward_dynamics", "aba_derivatives", "inverse_mass_matrix")
        )


def hinges():
    """Two hinges that lie on one line where the joint between them is straight."""
    tree = vt.Tree("hinges")
    tree.world.add(vt.rz("a"), vt.rx("b"), vt.rz("c"), vt.tx(0.1), vt.body("mass", 1.0, inertia=(0.1, 0.2, 0.3)))
    return tree.compile()


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 0.3, np.pi, np.pi / 2])
def test_configurations_that_are_singular(angle):
    model = hinges()
    twin, q, v = careful(model), np.array([0.2, angle, 0.4]), np.array([0.1, -0.2, 0.3])
    for name in ("aba", "velocity_from_momentum", "forward_dynamics", "passive_force", "aba_derivatives",
                 "inverse_mass_matrix"):  # fmt: skip
        given = arguments(name, {"q": q, "v": v})
        assert outcome(model, name, given) == outcome(twin, name, given)
    regular = model.singular_at(q) is None
    assert answered(model, "aba", (q, v, v)) == regular == (angle not in (0.0, 1e-9, 1e-6, 1e-5, np.pi))


def test_every_frame_and_both_axes():
    rng = np.random.default_rng(2)
    for label in ("all kinds", "all kinds, floating", "talos", "reduced", "revolute", "pendulum"):
        model, twin = MODELS[label], TWINS[label]
        q = state(model, rng)["q"]
        for frame, axes in itertools.product(model.frame_names, ("world", "local")):
            given = frame, q, axes
            assert outcome(model, "frame_jacobian", given) == outcome(twin, "frame_jacobian", given)
            assert outcome(model, "frame_pose", (frame, q)) == outcome(twin, "frame_pose", (frame, q))


def test_one_coordinate_in_both_axes():
    tree = vt.Tree("one")
    tree.world.add(vt.rx("a"), vt.tz(0.5), vt.rx(0.3), vt.body("one", 1.0))
    model = tree.compile()
    q = np.array([0.7])
    for axes in ("world", "local"):
        assert outcome(model, "frame_jacobian", ("one", q, axes)) == outcome(careful(model), "frame_jacobian",
                                                                             ("one", q, axes))  # fmt: skip


def test_signs_of_zero():
    model, twin = MODELS["all kinds, floating"], TWINS["all kinds, floating"]
    for zero in (0.0, -0.0):
        values = {"q": model.neutral() * 1.0, "r": model.neutral(), "v": np.full(model.nv, zero), "f": "link1"}
        for name in METHODS:
            assert outcome(model, name, arguments(name, values)) == outcome(twin, name, arguments(name, values))


def test_values_that_are_left_out():
    rng = np.random.default_rng(3)
    for label in ("all kinds", "damped", "constraints", "prescribed", "other loads"):
        model, twin = MODELS[label], TWINS[label]
        values = state(model, rng)
        q, v, tau = values["q"], values["v"], rng.normal(size=model.nv)
        for given, more in [
            ((q, v), {}), ((q, v, None), {}), ((q, v, tau), {}), ((q, v), {"tau": tau}), ((q, v), {"tau": None}),
            ((q, v, tau), {"t": 2.0}), ((q, v, tau), {"inputs": None}), ((q, v), {}),
        ]:  # fmt: skip
            # one after another: none is remembered
            assert outcome(model, "forward_dynamics", given, more) == outcome(twin, "forward_dynamics", given, more)


def test_accelerations_are_named():
    model = MODELS["arm6"]
    found = model.forward_dynamics(model.neutral(), model.zero_velocity())
    assert type(found) is Accelerations
    assert found.acceleration.shape == (6,) and found.multipliers.shape == (0,)


# ---- all other arguments ----------------------------------------------------------------------------------


class Own(np.ndarray):
    pass


def misaligned(x):
    raw = np.zeros(8 * len(x) + 8, np.uint8)
    at = raw[1 : 8 * len(x) + 1].view(float)
    at[:] = x
    assert not at.flags.aligned
    return at


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def with_entry(value):
    def changed(x):
        x = x.copy()
        x[len(x) // 2] = value
        return x

    return changed


KINDS_OF_INPUT = {
    "as it is": lambda x: x,
    "read-only": read_only,
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "generator": lambda x: iter(x.tolist()),
    "list of scalars": lambda x: list(x),
    "list of arrays": lambda x: [np.array(e) for e in x],
    "float32": lambda x: x.astype(np.float32),
    "float16": lambda x: x.astype(np.float16),
    "long double": lambda x: x.astype(np.longdouble),
    "integers": lambda x: np.round(x).astype(int),
    "truth values": lambda x: x > 0,
    "complex": lambda x: x + 0j,
    "objects": lambda x: x.astype(object),
    "text": lambda x: x.astype(str),
    "strided": lambda x: np.repeat(x, 2)[::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "misaligned": misaligned,
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "with metadata": lambda x: x.astype(np.dtype(float, metadata={"unit": "rad"})),
    "view": lambda x: np.concatenate([x, x])[: len(x)],
    "subclass": lambda x: x.view(Own),
    "matrix": lambda x: x[None].view(np.matrix),
    "masked": lambda x: np.ma.masked_array(x),
    "masked entries": lambda x: np.ma.masked_array(x, x > 0),
    "memory": memoryview,
    "records": lambda x: x.view([("x", float)]),
    "a row": lambda x: x[None],
    "a column": lambda x: x[:, None],
    "rows": lambda x: np.stack([x, x]),
    "one fewer": lambda x: x[:-1],
    "one more": lambda x: np.append(x, 0.0),
    "none": lambda x: x[:0],
    "no axes": lambda x: np.array(0.5),
    "a number": lambda x: 0.5,
    "None": lambda x: None,
    "a word": lambda x: "q",
    "an object": lambda x: object(),
    "a mapping": lambda x: dict(enumerate(x)),
    "NaN": with_entry(np.nan),
    "infinite": with_entry(np.inf),
    "minus infinite": with_entry(-np.inf),
    "huge": with_entry(1e300),
    "the largest": with_entry(np.finfo(float).max),
    "tiny": with_entry(5e-324),
    "zeros": np.zeros_like,
}


@pytest.mark.parametrize("kind", KINDS_OF_INPUT)
@pytest.mark.parametrize("label", ["arm6", "all kinds, floating", "pendulum", "reduced", "constraints"])
def test_arguments_of_every_kind(label, kind):
    model, twin, change = MODELS[label], TWINS[label], KINDS_OF_INPUT[kind]
    for name in METHODS:
        values = state(model, np.random.default_rng(7))
        plain = arguments(name, values)
        for k in range(len(plain)):
            if METHODS[name][k] != "f":
                # generators are used up
                given, again = ([*plain[:k], change(plain[k]), *plain[k + 1 :]] for _ in range(2))
                assert outcome(model, name, given) == outcome(twin, name, again), (name, k)


@pytest.mark.parametrize("kind", KINDS_OF_INPUT)
def test_only_plain_arrays_are_answered(kind):
    model = MODELS["arm6"]
    q = state(model, np.random.default_rng(7))["q"]
    plain = {"as it is", "read-only", "view", "with metadata", "tiny", "zeros", "huge", "the largest"}
    given = KINDS_OF_INPUT[kind](q)
    assert core.plain(given, 6) == (kind in plain)
    if kind not in ("huge", "the largest"):
        assert answered(model, "rnea", (given, q, q)) == (kind in plain)


@pytest.mark.parametrize("frame", ["none", "", "LINK1", 3, None, ["link1"], b"link1", np.str_("link1"), "world"])
@pytest.mark.parametrize("axes", ["world", "local", "LOCAL", "", None, 1, np.str_("local"), ["local"]])
def test_names_of_every_kind(frame, axes):
    model, twin = MODELS["all kinds"], TWINS["all kinds"]
    q = model.neutral()
    assert outcome(model, "frame_jacobian", (frame, q, axes)) == outcome(twin, "frame_jacobian", (frame, q, axes))
    assert outcome(model, "frame_jacobian", ("link1", q, axes)) == outcome(twin, "frame_jacobian", ("link1", q, axes))
    assert outcome(model, "frame_pose", (frame, q)) == outcome(twin, "frame_pose", (frame, q))


@pytest.mark.parametrize("name", METHODS)
def test_every_way_to_pass_arguments(name):
    model, twin = MODELS["all kinds"], TWINS["all kinds"]
    given = arguments(name, state(model, np.random.default_rng(4)))
    names = list(inspect.signature(getattr(model, name)).parameters)[: len(given)]
    for k in range(len(given) + 1):
        more = dict(zip(names[k:], given[k:], strict=True))
        expected = outcome(twin, name, given[:k], more)
        assert expected == outcome(twin, name, given)
        assert outcome(model, name, given[:k], more) == expected
        assert answered(model, name, given[:k], more)
        for wrong in ({"unknown": 1.0}, {names[0]: given[0]}):
            assert outcome(model, name, given[:k], more | wrong) == outcome(twin, name, given[:k], more | wrong)
    for some in ([], given[:-1], [*given, None], [*given, given[-1]], [*given, "world", "world"]):
        assert outcome(model, name, some) == outcome(twin, name, some)


def test_results_that_do_not_exist():
    rng = np.random.default_rng(5)
    for label in ("pendulum", "all kinds, floating", "loads with potentials", "other loads"):
        model, twin = MODELS[label], TWINS[label]
        for name, size in itertools.product(METHODS, (1e150, 1e200, 1e308)):
            values = state(model, rng)
            for letter in "vq":
                far = values | {letter: np.sign(values[letter]) * size}
                assert outcome(model, name, arguments(name, far)) == outcome(twin, name, arguments(name, far))


# ---- results ----------------------------------------------------------------------------------------------


def arrays_of(result):
    if isinstance(result, dict):
        return list(result.values())
    return [x for x in (result if isinstance(result, tuple) else (result,)) if isinstance(x, np.ndarray)]


@pytest.mark.parametrize("name", METHODS)
def test_results_own_their_memory(name):
    model = MODELS["all kinds, floating"]
    rng = np.random.default_rng(6)
    for off in (0.0, 1e-8):
        given = arguments(name, state(model, rng, off))
        before = copy.deepcopy(given)
        first, second = (getattr(model, name)(*given) for _ in range(2))
        kept = in_bits(second)
        for x, y in itertools.product(arrays_of(first), arrays_of(second)):
            assert not np.shares_memory(x, y)
        for x in arrays_of(first):
            assert x.flags.writeable and x.flags.c_contiguous and x.flags.aligned and x.dtype == float
            assert type(x) is np.ndarray
            assert not any(np.shares_memory(x, y) for y in given if isinstance(y, np.ndarray))
            x[...] = np.nan
        assert in_bits(second) == kept == in_bits(getattr(model, name)(*given))
        assert in_bits(tuple(given)) == in_bits(tuple(before))
        for x, y in itertools.combinations(arrays_of(second), 2):
            assert not np.shares_memory(x, y)


def test_results_are_no_part_of_the_model():
    model = MODELS["all kinds"]
    fixed = [name for name, k in model._frames.items() if model.flat.frame_body[k] < 0]
    assert fixed
    q = model.neutral()
    for name in fixed:
        pose = in_bits(model.frame_pose(name, q))
        model.frame_pose(name, q)[...] = 0.0
        model.frame_poses(q)[name][...] = 0.0
        assert in_bits(model.frame_pose(name, q)) == pose == in_bits(model.frame_poses(q)[name])


def test_calls_between_others_do_not_matter():
    """All methods of models of different sizes, in every order of two, over memory that is shared."""
    rng = np.random.default_rng(8)
    cases = []
    for label in ("chain", "all kinds, floating", "talos"):
        model, values = MODELS[label], state(MODELS[label], rng, 1e-9)
        cases += [(model, name, arguments(name, values)) for name in METHODS]
    alone = [outcome(*case) for case in cases]
    for i, j in itertools.permutations(range(len(cases)), 2):
        if i % 3 == j % 3:
            outcome(*cases[i])
            assert outcome(*cases[j]) == alone[j]


# ---- threads, and Python in between -----------------------------------------------------------------------


def test_threads():
    rng = np.random.default_rng(9)
    cases = []
    for label in ("chain", "all kinds, floating", "talos", "large", "large, all kinds", "constraints"):
        model, values = MODELS[label], state(MODELS[label], rng, 1e-9)
        cases += [(model, name, arguments(name, values)) for name in METHODS]
    alone = [outcome(*case) for case in cases]
    wrong, start = [], threading.Barrier(4)

    def work(seed):
        order = np.random.default_rng(seed)
        start.wait()
        for k in order.integers(len(cases), size=400):
            if outcome(*cases[k]) != alone[k]:
                wrong.append(cases[k][1])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_call_from_a_finaliser():
    """Python that runs while a result is made may call methods itself."""
    model, other = MODELS["talos"], MODELS["all kinds"]
    rng = np.random.default_rng(10)
    values, inner = state(model, rng, 1e-9), state(other, rng, 1e-9)
    called = []

    class Calling:
        def __init__(self):
            self.me = self

        def __del__(self):
            called.append(in_bits(other.rnea(inner["q"], inner["v"], inner["v"])))

    expected = {name: outcome(model, name, arguments(name, values)) for name in METHODS}
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for name in METHODS:
            for _ in range(5):
                Calling()
                assert outcome(model, name, arguments(name, values)) == expected[name]
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert len(called) == 5 * len(METHODS)
    assert set(called) == {in_bits(other.rnea(inner["q"], inner["v"], inner["v"]))}


# ---- classes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_functions_with_their_own_signature(name):
    method = getattr(vt.Model, name)
    assert inspect.isfunction(method) and method.__name__ == name
    assert method.__qualname__.endswith(f".{name}") and method.__doc__
    assert next(iter(inspect.signature(method).parameters)) == "self"
    assert "arguments" not in inspect.signature(method).parameters
    assert pickle.loads(pickle.dumps(method)) is method


def test_methods_of_a_model_can_be_pickled():
    model = MODELS["arm6"]
    q = np.linspace(0.1, 0.6, 6)
    assert in_bits(pickle.loads(pickle.dumps(model.crba))(q)) == in_bits(model.crba(q))
    for twin in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)):
        assert answered(twin, "crba", (q,)) and in_bits(twin.crba(q)) == in_bits(model.crba(q))


@pytest.mark.parametrize("name", [name for name in BYPASSED if inspect.isfunction(getattr(vt.Model, name))])
def test_a_subclass_is_heard(name):
    """A class that has a method otherwise, which others use, is not answered by compiled code."""
    heard = []

    @functools.wraps(getattr(vt.Model, name))
    def changed(self, *arguments, **more):
        heard.append(name)
        return getattr(super(kind, self), name)(*arguments, **more)

    kind = type("Changed", (vt.Model,), {name: changed})
    model, plain = kind(FLATS["damped"]), MODELS["damped"]
    values = state(plain, np.random.default_rng(11))
    for method in METHODS:
        assert not answered(model, method, arguments(method, values))
        assert outcome(model, method, arguments(method, values)) == outcome(plain, method, arguments(method, values))
    assert heard or name == "singular_at"


def test_a_subclass_that_changes_nothing_is_answered():
    class Same(vt.Model):
        def more(self):
            return self.nq

        def project_velocity(self, q, v):
            return np.asarray(v)

    model = Same(FLATS["damped"])
    assert answered(model, "crba", (model.neutral(),))


def test_a_subclass_that_changes_a_method_has_its_own():
    class Other(vt.Model):
        def rnea(self, q, v, a):
            return super().rnea(q, v, a) + 1.0

    model, plain = Other(FLATS["damped"]), MODELS["damped"]
    values = state(plain, np.random.default_rng(12))
    q, v = values["q"], values["v"]
    assert in_bits(model.rnea(q, v, v)) == in_bits(plain.rnea(q, v, v) + 1.0)


def test_frames_that_are_not_there():
    """The core reads the bodies of frames as they are numbered."""
    model = MODELS["arm6"]
    one = [0], np.eye(3)[None], np.zeros((1, 3))
    for frames, places in [({"a": 1}, one), ({"a": -1}, one), ({"a": 0}, ([6], *one[1:])), ({"a": 0}, ([-2], *one[1:])),
                           ({"a": 0}, (*one[:2], np.zeros((0, 3))))]:  # fmt: skip
        with pytest.raises(ValueError, match=r"frames of other bodies; there are 6|positions of frames of 0"):
            core.Calls(model.core, frames, places, (0.0, 0.0), model.load_list, False)
        with pytest.raises(ValueError, match=r"frames of other bodies; there are 6|positions of frames of 0"):
            maps().MapTables(model.core, frames, places, model._parameter_places)


def test_names_of_calls_are_methods():
    with pytest.raises(KeyError):
        core.Call("project_velocity")
    assert set(METHODS) == {name for name in dir(vt.Model) if _is_call(name)}


def _is_call(name):
    for kind in (core.Call, maps().MapCall):
        with contextlib.suppress(KeyError):
            kind(name)
            return True
    return False
