"""Kobilarov et al. 2009, Fig. 9: a helicopter that is flown by hand.

    python fig09_drive.py [--quick] [--out FOLDER]      # replays recorded keys, and draws the flight
    python fig09_drive.py --live                        # opens a page: fly by keys, buttons and sliders

In the paper a joystick moves the helicopter. Here it is a web page: the keys I K (ahead, back), J L (turn left, right),
U O (up, down) and P (back to the start), a button for each key, and a slider for each of the four sticks. A web page of
viser hears keys when they go down, not when they come up. Each key therefore pushes a stick by a notch, and the stick
comes back by itself within a second or two. viser does not hear joysticks: the browser's interface for them is open to
the page's own program only, and the page is viser's. The sliders take their place. Other keys move viser's camera.
If keys are not heard, click the picture.

A pilot turns the sticks into the model's four inputs: speed ahead and aside, rate of climb, rate of turn. Without it
nobody could fly the helicopter, which is not stable. The paper does not say how its joystick is mapped.

The run that the table of the manual cites replays recorded keys through the functions that the page calls.
"""

import argparse
import sys
import threading
import time
from pathlib import Path

import numpy as np

import vitree as vt

sys.path.append(str(Path(__file__).parents[1]))
import common

#: The step [s], and pictures a second of the page.
DT, RATE = 0.02, 25
#: What a stick at its end asks for: speed ahead and to the left, rate of climb [m/s], rate of turn to the left [rad/s].
STICKS = {"ahead": 4.0, "left": 2.0, "up": 2.0, "turn": 1.2}
#: Key -> stick and direction.
KEYS = {"I": ("ahead", 1), "K": ("ahead", -1), "J": ("turn", 1), "L": ("turn", -1), "U": ("up", 1), "O": ("up", -1)}
WORDS = {"I": "ahead", "K": "back", "J": "turn left", "L": "turn right", "U": "up", "O": "down"}
#: ExternalWrench of a key, and the time in which a stick that was pushed comes back [s].
NOTCH, BACK = 0.35, 1.5
#: Keys of the replay, by their times [s].
RECORDED = ([(0.4 * k, "U") for k in range(4)] + [(1.0 + 0.4 * k, "I") for k in range(26)]
            + [(4.0 + 0.3 * k, "J") for k in range(12)] + [(8.0 + 0.3 * k, "L") for k in range(18)]
            + [(12.0 + 0.4 * k, "K") for k in range(4)] + [(13.0 + 0.4 * k, "O") for k in range(3)])  # fmt: skip


def pilot(helicopter, q, v, sticks) -> np.ndarray:
    """The inputs (collective, yaw, pitch, roll) that follow the sticks."""
    x, y, z, w = q[3:]
    R = vt.lie.matrix_from_pose(q)[:3, :3]
    nose, lean = np.arcsin(np.clip(2 * (w * y - x * z), -1, 1)), np.arctan2(R[2, 1], R[2, 2])
    speed = R @ v[:3]
    heading = np.array([R[0, 0], R[1, 0]]) / np.hypot(R[0, 0], R[1, 0])
    ahead, left = heading @ speed[:2], heading[0] * speed[1] - heading[1] * speed[0]
    # tilt of the body for speed, tilt of the rotor for the body's tilt
    bow = np.clip(0.2 * (STICKS["ahead"] * sticks["ahead"] - ahead), -0.4, 0.4)
    list_ = np.clip(-0.2 * (STICKS["left"] * sticks["left"] - left), -0.4, 0.4)
    pitch = np.clip(0.5 * (bow - nose) - 0.25 * v[4], -0.35, 0.35)
    roll = np.clip(0.35 * (list_ - lean) - 0.18 * v[3], -0.35, 0.35)
    lift = helicopter.mass * (9.81 + 2.0 * (STICKS["up"] * sticks["up"] - speed[2])) / max(R[2, 2], 0.5)
    yaw = 0.3 * (STICKS["turn"] * sticks["turn"] - v[5])
    return np.array([np.clip(lift, 0.0, 2 * 9.81 * helicopter.mass), yaw, pitch, roll])


class Flight:
    """A helicopter, its state, and the sticks; keys and sliders call ``press`` and ``hold``."""

    def __init__(self):
        self.helicopter = vt.vehicles.helicopter(drag=(0.02, 0.02, 0.02, 0.1, 0.1, 0.2))
        self.lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """Hover two metres above the ground, sticks in the middle."""
        with self.lock:
            self.t, self.sticks, self.held = 0.0, dict.fromkeys(STICKS, 0.0), dict.fromkeys(STICKS, False)
            self.q, self.v = self.helicopter.neutral(), self.helicopter.zero_velocity()
            self.q[2] = 2.0

    def press(self, key: str) -> None:
        """Push a stick by a notch; it comes back."""
        stick, direction = KEYS[key]
        with self.lock:
            self.held[stick] = False
            self.sticks[stick] = float(np.clip(self.sticks[stick] + direction * NOTCH, -1, 1))

    def hold(self, stick: str, value: float) -> None:
        """Put a stick somewhere; it stays, until a key pushes it."""
        with self.lock:
            self.sticks[stick], self.held[stick] = float(np.clip(value, -1, 1)), value != 0

    def advance(self, steps: int = 1) -> float:
        """Take steps of the variational integrator; return the seconds that the compiled code took."""
        seconds = 0.0
        with self.lock:
            for _ in range(steps):
                inputs = dict(zip(self.helicopter.input_names, pilot(self.helicopter, self.q, self.v, self.sticks),
                                  strict=True))  # fmt: skip
                run = vt.simulate(self.helicopter, self.q, self.v, duration=DT, dt=DT, method="lie",
                                  control=vt.Control(inputs=inputs))
                self.q, self.v, self.t = run.q[-1], run.v[-1], self.t + DT
                if self.q[2] < 0:  # the ground is no part of the model
                    self.q, self.v = np.array([*self.q[:2], 0.0, *self.q[3:]]), 0.0 * self.v
                seconds += run.seconds
                for stick, held in self.held.items():
                    if not held:
                        self.sticks[stick] *= np.exp(-DT / BACK)
        return seconds


class Page:
    """The page of a flight: a scene, keys, buttons and sliders, and a thread that flies in real time."""

    def __init__(self, flight: Flight, port: int = 8080):
        from vitree.results.drawing import drawing_of, poses
        from vitree.viewer.source import view_of
        from vitree.viewer.stage import Stage, open_server, set_scene

        self.flight, self.poses = flight, poses
        self.server, token = open_server("127.0.0.1", port, "vitree: fly")
        self.url = f"http://localhost:{self.server.get_port()}/{token}/"
        drawing = drawing_of(flight.helicopter)
        begin = poses(flight.helicopter, flight.q)
        self.ground = set_scene(self.server, view_of([drawing], [begin[None]]))
        # from behind, a little aside
        self.server.initial_camera.position, self.server.initial_camera.look_at = (-4.0, -2.5, 3.2), (0.0, 0.0, 2.0)
        self.stage = Stage(self.server.scene, flight.helicopter.name, drawing)
        gui = self.server.gui
        self.commands = {key: gui.add_command(f"{word} ({key})", hotkey=key) for key, word in WORDS.items()}
        self.buttons = {key: gui.add_button(f"{word} ({key})") for key, word in WORDS.items()}
        for key in WORDS:
            self.commands[key].on_trigger(lambda _, key=key: flight.press(key))
            self.buttons[key].on_click(lambda _, key=key: flight.press(key))
        self.sliders = {stick: gui.add_slider(stick, -1.0, 1.0, 0.01, 0.0) for stick in STICKS}
        for stick, slider in self.sliders.items():
            slider.on_update(lambda event, stick=stick: self.slid(event, stick))
        gui.add_command("back to the start (P)", hotkey="P").on_trigger(lambda _: flight.reset())
        gui.add_button("back to the start (P)").on_click(lambda _: flight.reset())
        self.follow = gui.add_checkbox("follow", True)
        self.told = gui.add_markdown("")
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.fly, daemon=True)
        self.thread.start()

    def slid(self, event, stick: str) -> None:
        """A visitor has moved a slider; what this process sets is not heard."""
        if event.client is not None:
            self.flight.hold(stick, float(event.target.value))

    def fly(self) -> None:
        """Take as many steps as time has passed, and show the state."""
        last = time.monotonic()
        while not self.ended.wait(1 / RATE):
            steps = int((time.monotonic() - last) / DT)
            last += steps * DT
            self.flight.advance(min(steps, RATE))
            self.show()

    def show(self) -> None:
        """Move the helicopter and the sliders; if the camera follows, the ground moves instead."""
        x, y, z = self.flight.q[:3]
        travel = np.array([x, y, 0.0]) if self.follow.value else np.zeros(3)
        with self.server.atomic():
            self.ground.move(-travel)
            self.stage.move(-travel)
            self.stage.place(self.poses(self.flight.helicopter, self.flight.q))
            for stick, slider in self.sliders.items():
                if not self.flight.held[stick] and abs(slider.value - self.flight.sticks[stick]) > 0.01:
                    slider.value = round(self.flight.sticks[stick], 2)
        self.told.content = f"t = {self.flight.t:.1f} s, place ({x:.1f}, {y:.1f}, {z:.1f}) m"

    def stop(self) -> None:
        """Close the page."""
        self.ended.set()
        self.thread.join(timeout=2.0)
        self.server.stop()


def replay(keys, duration: float):
    """Fly by recorded keys; times, states, sticks, and seconds of compiled steps and of all."""
    flight, rows, took, left = Flight(), [], 0.0, sorted(keys)
    began = time.perf_counter()
    for _ in range(round(duration / DT)):
        while left and left[0][0] <= flight.t + 1e-9:
            flight.press(left.pop(0)[1])
        took += flight.advance()
        rows.append([flight.t, *flight.q, *flight.v, *flight.sticks.values()])
    return np.array(rows), took, time.perf_counter() - began


def live(port: int) -> None:
    """Serve the page until interrupted."""
    page = Page(Flight(), port)
    print(f"fly at {page.url} - keys " + ", ".join(f"{key} {word}" for key, word in WORDS.items()))
    try:
        while True:
            time.sleep(0.5)
    except KeyboardInterrupt:
        page.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a short flight, to see that it works")
    parser.add_argument("--live", action="store_true", help="open a page to fly by hand")
    parser.add_argument("--port", type=int, default=8080, help="of the page")
    parser.add_argument("--out", type=Path, default=Path("."), metavar="FOLDER", help="where the picture goes")
    arguments = parser.parse_args()
    if arguments.live:
        live(arguments.port)
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    duration = 6.0 if arguments.quick else 20.0
    keys = [pair for pair in RECORDED if pair[0] < duration]
    rows, took, whole = replay(keys, duration)
    t, place, v, sticks = rows[:, 0], rows[:, 1:4], rows[:, 8:14], rows[:, 14:]
    way = np.linalg.norm(np.diff(place, axis=0), axis=1).sum()
    again, *_ = replay(keys, duration)
    print(f"{len(keys)} keys in {duration:g} s, dt = {DT:g} s: the way flown, the largest speed, heights; and a step")
    heads = ["", "way [m]", "speed [m/s]", "least height [m]", "greatest", "compiled [us]", "with the pilot [us]"]
    numbers = [way, np.linalg.norm(v[:, :3], axis=1).max(), place[:, 2].min(), place[:, 2].max()]
    costs = [f"{1e6 * x / len(t):.1f}" for x in (took, whole)]
    common.table(heads, [["flight", *(f"{x:.2f}" for x in numbers), *costs]])

    figure, axes = common.figure(1, 2, size=(11, 4.4))
    axes[0].plot(*place[:, :2].T, **common.LINES[0])
    for k in range(0, len(t), 50):
        turn = vt.lie.matrix_from_pose(rows[k, 1:8])[:2, 0]
        axes[0].annotate("", place[k, :2] + 1.2 * turn, place[k, :2], arrowprops={"arrowstyle": "->", "color": "0.5"})
    axes[0].set(title="from above, an arrow each second", xlabel="x [m]", ylabel="y [m]", aspect="equal")
    axes[0].margins(0.1)
    for name, stick, style in zip(STICKS, sticks.T, common.LINES, strict=False):
        axes[1].plot(t, stick, label=name, **style)
    axes[1].set(title="sticks", xlabel="time [s]", ylim=(-1.1, 1.6), yticks=(-1, -0.5, 0, 0.5, 1))
    axes[1].legend(fontsize="small", ncols=4, loc="upper center")
    common.save(figure, arguments.out, "fig09_drive.png")
    common.claims(
        ("a helicopter is animated by the integrator for holonomic systems, while a joystick moves it",
         f"keys, buttons and sliders of a page move it: {len(keys)} recorded keys fly {way:.0f} m in {duration:g} s; a "
         f"step takes {1e6 * took / len(t):.0f} us, with the pilot and all Python {whole / (DT * len(t)):.0%} of the "
         f"time that it stands for; a replay gives the same bits: {'yes' if np.array_equal(rows, again) else 'NO'}",
         "by keys and sliders, yes; a joystick does not reach the page"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
