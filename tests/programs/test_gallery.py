"""The gallery's scripts and their twins in plain JAX run, and find the same.

Slow: each compiles a training or a solver, twice. They run in this process, with few
steps; pages are built with many (docs/gallery/build.py).
"""

import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest


ROOT = Path(__file__).parents[2]
SCRIPTS, PAGES = ROOT / "examples" / "gallery", ROOT / "docs" / "gallery"
NAMES = [
    path.stem
    for path in sorted(SCRIPTS.glob("*.py"))
    if not path.stem.endswith("_plain")
]


@pytest.fixture(autouse=True)
def as_a_script(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")


def run(name, monkeypatch):
    """What a script has found, run as `python name.py --short`."""
    monkeypatch.setattr(sys, "argv", [name, "--short"])
    if name.startswith("torch"):
        pytest.importorskip("torch")
    result = runpy.run_path(str(SCRIPTS / f"{name}.py"), run_name="__main__")["result"]
    if not name.endswith("_plain"):
        from matplotlib import pyplot as plt

        plt.close("all")
        assert Path(f"{name}.png").stat().st_size > 5000
    return result


def both(name, monkeypatch):
    return [run(n, monkeypatch) for n in (name, f"{name}_plain")]


def test_the_vae_learns_digits(monkeypatch):
    ours, plain = both("vae", monkeypatch)
    for found in (ours, plain):
        assert found["losses"][-1] < 28 < found["losses"][0]
    assert ours["test loss"] == pytest.approx(plain["test loss"], abs=0.5)


def test_ppo_balances_the_cart_pole(monkeypatch):
    for found in both("ppo", monkeypatch):
        assert found["lengths"][0] < 40
        assert found["lengths"][-1] > 100
        assert found["balanced"].mean() > 150


def test_the_robots_reach_their_goals_and_hit_no_pillar(monkeypatch):
    ours, plain = both("mpc", monkeypatch)
    for found in (ours, plain):
        assert found["away"].max() < 0.3
        assert found["gap"].min() > 0
    apart = np.abs(ours["path"] - plain["path"]).max(axis=(1, 2))
    assert np.median(apart) < 1e-3  # close calls may go another way


def test_the_gaussian_process_is_that_of_scikit_learn(monkeypatch):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    ours, plain = both("gaussian_process", monkeypatch)
    assert ours["h"] == pytest.approx(plain["h"], abs=1e-3)
    assert ours["covariance"] == pytest.approx(plain["covariance"], rel=0.02, abs=1e-3)
    amplitude, noise, *lengths = np.exp(ours["h"].astype("float64"))
    kernel = ConstantKernel(amplitude**2) * RBF(lengths) + WhiteKernel(noise**2)
    process = ours["process"]
    other = GaussianProcessRegressor(kernel, alpha=0, optimizer=None)
    other.fit(np.array(process.x, "float64"), np.array(process.y, "float64"))
    mean, std = process.predict(ours["h"], process.x[:5] + 0.3)
    theirs = other.predict(np.array(process.x[:5] + 0.3), return_std=True)
    assert np.array(mean) == pytest.approx(theirs[0], abs=1e-3)
    assert np.array(std) == pytest.approx(theirs[1], abs=1e-3)
    best = other.log_marginal_likelihood_value_ - (ours["h"] ** 2).sum() / 18
    constant = np.log(2 * np.pi) * len(process.y) / 2
    assert float(-process.loss(ours["h"])) - constant == pytest.approx(best, abs=0.02)


def test_the_neural_ode_predicts_what_it_has_not_seen(monkeypatch):
    for found in both("neural_ode", monkeypatch):
        assert found["losses"][-1] < 0.3 * found["losses"][0]
        assert found["error"] < 0.25


def test_the_chains_agree_about_the_eight_schools(monkeypatch):
    for found in both("mcmc", monkeypatch):
        assert found["mu"].mean() == pytest.approx(4.4, abs=0.4)  # Stan's
        assert found["tau"].mean() == pytest.approx(3.6, abs=0.6)
        assert found["r hat"] < 1.1
        assert np.unique(found["mu"][:, -1]).size > 100  # each has its own numbers


def test_the_scan_is_turned_back(monkeypatch):
    ours, plain = both("registration", monkeypatch)
    for found in (ours, plain):
        assert found["mean error"] < 0.02
    assert ours["mean error"] == pytest.approx(plain["mean error"], abs=1e-3)


@pytest.mark.skipif(not find_spec("torch"), reason="PyTorch is not installed")
def test_a_loss_of_pytorch_cleans_digits(monkeypatch):
    for found in both("torch_loss", monkeypatch):
        assert found["noisy"] == pytest.approx(0.6, abs=0.02)
        assert found["cleaned"] > found["noisy"] + 0.05


def inner_lines(text):
    return [line.strip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_the_scripts_as_they_are(name):
    page = "\n".join(inner_lines((PAGES / f"{name}.md").read_text()))
    for script in (name, f"{name}_plain"):
        code = "\n".join(inner_lines((SCRIPTS / f"{script}.py").read_text()))
        assert code in page, "python docs/gallery/build.py --text " + name
    assert (PAGES / f"{name}.png").stat().st_size < 80_000
