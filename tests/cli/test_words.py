"""For each option that can be wrong, the message of the command line names the option."""

from __future__ import annotations

import pickle

import pytest

pytest.importorskip("typer")

import typer

import vitree as vt
from vitree import cli
from vitree.cli import words
from vitree.errors import ConvergenceError, InputError, UnknownNameError

SHORT = "-T 0.02 --dt 0.01"
#: Options to a command line in which the option is wrong.
WRONG = {
    "--base": "info pendulum --base loose",
    "--mimic": "info pendulum --mimic yes",
    "--loops": "info pendulum --loops yes",
    "--root": "info pendulum --root nowhere",
    "--inertia": "info pendulum --inertia yes",
    "--density": "info pendulum --density -1",
    "--armature": "info pendulum --armature -1",
    "--package": "info pendulum --package /nowhere",
    "--xacro": "info pendulum --xacro novalue",
    "--ground": f"simulate car {SHORT} --ground",
    "--friction": f"simulate human {SHORT} --ground --friction -1",
    "--restitution": f"simulate human {SHORT} --ground --restitution 1.5",
    "--limits": f"simulate pendulum {SHORT} --limits hold",
    "--limit-restitution": f"simulate pendulum {SHORT} --limits enforce --limit-restitution 2",
    "--velocity-limits": f"simulate pendulum {SHORT} --velocity-limits hold",
    "--joint-friction": f"simulate pendulum {SHORT} --joint-friction wet",
    "--gravity": f"simulate pendulum {SHORT} --gravity 0,0",
    "--damping": f"simulate car {SHORT} --no-damping",
    "--duration": "simulate pendulum --duration -1",
    "--solver": f"simulate pendulum {SHORT} --solver newtn",
    "--order": f"simulate pendulum {SHORT} --order 5",
    "--option": f"simulate pendulum {SHORT} --option tolerance=1",
    "--input": f"simulate car {SHORT} --input torqe=1",
    "--record-every": f"simulate pendulum {SHORT} --record-every 0",
    "--q0": f"simulate pendulum {SHORT} --q0 1,2,3",
    "--v0": f"simulate pendulum {SHORT} --v0 1,2,3",
    "--drives": f"simulate pendulum {SHORT} --drives 100",
    "--speed": f"simulate pendulum {SHORT} --speed nan",
    "--seed": f"simulate pendulum {SHORT} --seed -1",
    "--method": f"simulate pendulum {SHORT} --method rk44",
    "--dt": "simulate pendulum --dt -1",
    "--accuracy": "simulate pendulum --dt auto --accuracy 2",
    "--output": f"simulate pendulum {SHORT} --output run.txt",
    "--max-halvings": f"simulate pendulum {SHORT} --max-halvings -1",
    "--max-impacts": f"simulate pendulum {SHORT} --max-impacts -1",
    "--monitor": f"simulate pendulum {SHORT} --monitor enrgy",
    "--methods": f"compare pendulum {SHORT} --methods rk44",
    "--reference": f"compare pendulum {SHORT} --reference exact",
    "--repeats": f"compare pendulum {SHORT} --repeats 0",
    "--ensemble": f"compare pendulum {SHORT} --ensemble 0",
    "--tolerances": f"compare pendulum {SHORT} --work-precision --tolerances 2",
    "--engines": f"compare pendulum {SHORT} --no-plot --engines bullet",
    "--seeds": f"sweep pendulum {SHORT} --seeds 0",
    "--set": f"sweep pendulum {SHORT} --set tolerance",
    "--folder": f"sweep pendulum {SHORT} --folder run.npz",
    "--backend": f"sweep pendulum {SHORT} --backend mpi",
    "--workers": f"sweep pendulum {SHORT} --workers 0",
    "--cluster": f"sweep pendulum {SHORT} --cluster tcp://localhost:1",
    "--plot": f"compare pendulum {SHORT} --plot absent/a.png",
    "--steps": "bench pendulum --steps 0",
    "--scene": "bench scenes --scene rollin",
    "--html": "view pendulum --html page.txt",
    "--table": f"compare pendulum {SHORT} --table table.txt",
    "--mp4": "view pendulum --mp4 page.txt",
    "--fps": "view pendulum --fps 3",
    "--size": "view pendulum --mp4 run.mp4 --size 640",
    "--import": f"simulate pendulum {SHORT} --import nowhere.py",
    "--host": "view pendulum --host 256.0.0.1 --no-browser",
    "--port": "view pendulum --port 0 --no-browser",
    "--rate": "play pendulum --no-browser --rate 0",
    "--controller": "play pendulum --no-browser --controller none.py",
    "--keyframes": "play pendulum --no-browser --keyframes run.npz",
    "--spread": "view pendulum --spread nan --html page.html",
    "--robot": "view pendulum --robot pendulum",
    "--frame": "plot contact-forces run.npz --frame x",
    "--contacts": "convert run.npz a.json --contacts",
    "--coordinate": "plot coordinates run.npz --coordinate elbo",
    "--of": "plot coordinates run.npz --of a",
    "--mean": "plot contact-forces run.npz --mean 0",
    "--lossy": "convert pendulum pendulum.sexpr --lossy",
}
#: The same of options that other commands have, too.
MORE = [
    ("--friction", f"simulate pendulum {SHORT} --friction 0.5"),
    ("--restitution", "check human --restitution 0"),
    ("--limits", "convert run.npz run.csv --limits ignore"),
    ("--ground", "info car --ground"),
    ("--mean", "plot energy run.npz --mean 0.1"),
    ("--option rtol=", f"simulate pendulum {SHORT} -m scipy-rk45 --option rtol=-1"),
    ("--option adapt=", f"simulate pendulum {SHORT} --option adapt=fast"),
    ("--option rate=", f"simulate pendulum {SHORT} --option rate=1"),
    ("--option alpha=", f"simulate pendulum {SHORT} -m midpoint --option alpha=2"),
    ("--option guess=", f"simulate pendulum {SHORT} --option guess=none"),
    ("--option map=", f"simulate boat {SHORT} --option map=mercator"),
    ("--option tolerance=", f"simulate boat {SHORT} --option tolerance=1"),
    ("--option tolerence=", f"simulate pendulum {SHORT} --option tolerence=1"),
    ("--solver", f"simulate pendulum {SHORT} --method rk4 --solver riqn"),
    ("--dt", "compare pendulum --dt 0.003 -T 0.01"),
    ("--dt", "bench pendulum --dt -1"),
    ("--dt", "simulate pendulum --dt quick"),
    ("--dt", "simulate pendulum --accuracy 1e-4"),
    ("--accuracy", "compare pendulum --accuracy 1e-4 -T 0.01 --no-plot"),
    ("--method", "simulate double_pendulum -T 0.1 --accuracy 1e-13 --dt auto"),
    ("--methods", "bench pendulum --methods rk44"),
    ("--methods", "bench scenes --methods rk4"),
    ("--dt", "bench scenes --dt 0.1"),
    ("--damping", "bench scenes --no-damping"),
    ("--base", "bench scenes --base free"),
    ("--scene", "bench pendulum --scene rolling"),
    ("--quick", "bench pendulum --quick"),
    ("--csv", "bench scenes --csv --json"),
    ("--html", f"compare pendulum {SHORT} --html page.txt"),
    ("--ensemble", f"compare pendulum {SHORT} --ensemble 3 --v0 zero"),
    ("--tolerances", f"compare pendulum {SHORT} --tolerances 1e-4"),
    ("--tolerances", f"compare pendulum {SHORT} --work-precision --tolerances a"),
    ("--dt", "compare pendulum -T 0.02 --ensemble 3 --dt auto"),
    ("--record-every", f"compare pendulum {SHORT} --record-every 9"),
    ("--set tolerence=", f"sweep pendulum {SHORT} --set tolerence=1"),
    ("--set alpha=", f"sweep pendulum {SHORT} --set alpha=0.1,0.2"),
    ("--set tolerance=", f"sweep pendulum {SHORT} --option tolerance=1e-6 --set tolerance=1e-9"),
    ("--option alpha=", f"sweep pendulum {SHORT} --option alpha=0.1"),
    ("--dt", "sweep pendulum --dt 0.01,0.01 -T 0.1"),
    ("--dt", "sweep pendulum --dt 0.03 -T 0.1"),
    ("--methods", f"sweep pendulum {SHORT} --methods rk44"),
    ("--output", f"sweep pendulum {SHORT} --output table.txt"),
    ("--seed", f"sweep pendulum {SHORT} --seed -1"),
    ("--speed", f"sweep pendulum {SHORT} --speed nan"),
    ("--monitor", f"simulate pendulum {SHORT} -m scipy-rk45 --monitor energy"),
    ("--speed", "view pendulum --speed 0"),
    ("--q0", "view pendulum --q0 1,2"),
    ("--output", "plot energy run.npz --output a.xyz"),
    ("--output", "fix pendulum --output absent/a.urdf"),
]
#: Switches, and options whose every value does.
NEVER_WRONG = {
    "--work-precision",
    "--json", "--progress", "--no-plot", "--peers", "--strict", "--notes", "--each", "--paths", "--browser", "--follow",
    "--paused",
    "--force", "--trust", "--quick", "--csv",
    "--timings", "--version", "--help", "--install-completion", "--show-completion",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("words")
    vt.simulate(vt.load_urdf(vt.find_robot("pendulum")), duration=0.02, dt=0.01).save(path / "run.npz")
    return path


@pytest.mark.parametrize(("option", "line"), [*WRONG.items(), *MORE], ids=lambda text: text.replace(" ", "_"))
def test_the_message_names_the_option_that_is_wrong(folder, monkeypatch, capsys, option, line):
    monkeypatch.chdir(folder)
    if line.startswith(("view", "play")):
        pytest.importorskip("viser")
    assert cli.main(line.split()) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("vitree: ") and err.count("\n") == 1
    assert option in err.replace("--no-damping", "--damping")


@pytest.mark.parametrize(("line", "text"), [
    ("--step 0.01", "No such option: --step; --dt is the time step"),
    ("--integrator rk4", "--method is the integrator"),
    ("--torque 1", "No such option: --torque"),
    ("--duration 1s", "'--duration' / '-T': it must be a number, without a unit"),
    ("--seed x", "'--seed': it must be a whole number"),
    ("--dt 0.01 0.02", "separated by commas, as in --dt 0.002,0.001"),
])  # fmt: skip
def test_the_wrong_use_of_a_command_is_told_with_its_remedy(capsys, line, text):
    assert cli.main(["simulate", "pendulum", *line.split()]) == 2
    said = capsys.readouterr().err
    assert text in said and said.count("\n") == 1


def test_a_run_without_a_quantity_is_told_what_comes_first(capsys):
    assert cli.main(["plot", "run.npz"]) == 2
    assert "Missing argument 'RUN'. The quantity comes first, as in vitree plot" in capsys.readouterr().err


def test_each_option_that_can_be_wrong_has_a_case():
    commands = typer.main.get_command(cli.application()).commands.values()
    options = {max(each.opts, key=len) for command in commands for each in command.params if each.opts[0][0] == "-"}
    assert options == set(WRONG) | (NEVER_WRONG & options)


@pytest.mark.parametrize(("text", "words_of_it"), [
    ("halve dt, or give rtol= above 1", "halve dt, or give --option rtol= above 1"),
    ("lossy=True leaves out torque=3.0", "--lossy leaves out torque=3.0"),
    ('dt=-1 must be positive; dt="auto", or dt=1e-3.', "--dt -1 must be positive; --dt auto, or --dt 1e-3."),
    ("leave out adapt= (of order=4) and packages=", "leave out --option adapt= (of --order 4) and --package"),
    ('with method="rk4", which has none', "with --method rk4, which has none"),
    ('as in xacro={"size": "..."}', "as in --xacro size=..."),
    ("x.dt=3 and a-dt=3 and E=3 stay", "x.dt=3 and a-dt=3 and E=3 stay"),
])  # fmt: skip
def test_arguments_in_texts_become_options(text, words_of_it):
    assert words.in_options(text) == words_of_it


def test_an_error_names_its_option_once():
    assert words.message_of(InputError("dt", -1, "must be positive")) == "--dt -1 must be positive"
    assert words.message_of(InputError("q0", [1], "has shape (1,)")) == "--q0 has shape (1,)"
    unknown = UnknownNameError("link", "a", ["b"], argument="root")
    assert words.message_of(unknown) == '--root: no link "a"; choose from b'
    assert words.message_of(InputError("there is nothing to draw")) == "there is nothing to draw"


def test_what_an_input_error_says_of_its_value():
    assert str(InputError("dt", -1, "must be positive")) == "dt=-1 must be positive"
    assert str(InputError("method", "x", "must be a name")) == 'method="x" must be a name'
    assert str(InputError("port", 3, "is 3; give another")) == "port is 3; give another"
    assert str(InputError("q", [1.0], "must be numbers")) == "q must be numbers"
    assert str(InputError("the wrench of a load", 3.0, "must be numbers")) == "the wrench of a load must be numbers"
    assert InputError("the wrench of a load", 3.0, "must be numbers").argument is None


def test_errors_carry_argument_value_and_choices():
    model = vt.load_urdf(vt.find_robot("pendulum"))

    def error_of(**arguments):
        with pytest.raises((InputError, UnknownNameError)) as caught:
            vt.simulate(model, **({"duration": 0.1, "dt": 0.01} | arguments))
        return caught.value

    def about(error):
        return error.argument, error.value

    assert about(error_of(dt=-1)) == ("dt", -1)
    assert about(error_of(record_every=0)) == ("record_every", 0)
    assert about(error_of(solver="newtn")) == ("solver", "newtn") and "newton" in error_of(solver="newtn").choices
    assert about(error_of(method="rk44")) == ("method", "rk44") and "rk4" in error_of(method="rk44").choices
    assert about(error_of(order=5)) == ("order", 5) and error_of(order=5).choices == [2, 4, 6, 8]
    assert about(error_of(v0=[1, 2, 3]))[0] == "v0"
    assert about(error_of(halving=1)) == ("halving", "halving") and "max_halvings" in error_of(halving=1).choices
    plain = InputError("no such thing")
    assert (plain.argument, plain.value, plain.choices) == (None, None, None)
    assert about(ConvergenceError("no", time=0.0, residual=0.0, iterations=0)) == (None, None)


def test_an_error_whose_value_cannot_be_pickled_carries_its_repr():
    error = InputError("torque", lambda t: 1.0, "is no array")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.argument == "torque" and "lambda" in again.value
