"""Every example runs, in a process of its own, with what XLA does for tests.

Slow: an example trains networks. The README's first command runs the tour as for users.
"""

import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from subprocesses import PYTHON, environment


NEEDS_TORCH = {"torch_in_jax"}
EXAMPLES = [
    path
    for path in sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
    if path.stem not in NEEDS_TORCH or find_spec("torch")
]
EXAMPLES_BY_NAME = {path.stem: path for path in EXAMPLES}


def start(path, folder):
    """The output of an example, started in a folder."""
    own = {"COLUMNS": "100", "JFI_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [*PYTHON, path],
        cwd=folder,
        env=environment(own),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=EXAMPLES, ids=lambda path: path.stem)
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param.stem)
    return request.param.stem, start(request.param, folder), folder


def test_example(run):
    name, output, folder = run
    assert output
    if name == "tour":
        accuracies = [float(word[:-1]) for word in output.split() if word[-1] == "%"]
        plain, haiku, nearest, attacked = accuracies[-4:]
        assert min(plain, haiku, nearest) > 90
        assert attacked < 10
        assert ("PyTorch is not installed" in output) == (find_spec("torch") is None)
        assert (folder / "tour.png").stat().st_size > 10_000
        assert "step: " in output
        assert (folder / "tour_step.png").stat().st_size > 10_000
    if name == "look_inside":
        assert "Both end at the same angles: True" in output
        assert "a Python loop?" in " ".join(output.split())  # wrapped
        assert (folder / "look_inside.png").stat().st_size > 10_000
    if name == "torch_in_jax":
        heights = output.split("upright: [")[1].split("]")[0]
        assert min(map(float, heights.split())) > 0.7
        assert (folder / "torch_in_jax.png").stat().st_size > 10_000
    if name == "optimal_control":
        assert "the same numbers" in output
        assert (folder / "optimal_control.png").stat().st_size > 10_000
    if name == "tour":
        again = start(EXAMPLES_BY_NAME["tour"], folder)
        assert "compiled programs were there from an earlier run" in again
    if name == "persistent_mpc":
        assert "Run it again" in output
        again = start(EXAMPLES_BY_NAME["persistent_mpc"], folder)
        assert "times as long" in again
        assert "compiled: 0," in again
        flights = [
            text.partition("After")[2].partition(";")[0] for text in (output, again)
        ]
        assert flights[0] == flights[1]
    if name == "many_machines":
        assert "the same numbers" in output
        assert output.count("compiled energy() 1 time(s)") == 2
        assert (folder / "many_machines.png").stat().st_size > 10_000
