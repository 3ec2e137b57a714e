"""Every example runs, in a process of its own, as a user would run it.

Slow: an example trains networks. What XLA compiles for it is kept for the next run.
"""

import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from subprocesses import PYTHON, cache_variables, environment


EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.fixture(scope="module", params=EXAMPLES, ids=lambda path: path.stem)
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param.stem)
    done = subprocess.run(
        [*PYTHON, request.param],
        cwd=folder,
        env=environment({"COLUMNS": "100", **cache_variables()}, as_users=True),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return request.param.stem, done.stdout, folder


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
    if name == "optimal_control":
        assert "the same numbers" in output
        assert (folder / "optimal_control.png").stat().st_size > 10_000
