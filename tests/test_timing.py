"""`timeit`: what is measured, what is printed, what is left as it was."""

import time

import jax
import pytest

import jfi as jnp


def test_two_functions_side_by_side(capsys):
    def slow(x, factor):
        time.sleep(2e-3)
        return x * factor

    def fast(x, factor):
        time.sleep(1e-3)
        return x * factor

    timing = jnp.timeit(slow, 2.0, factor=3, versus=fast, seconds=0.05)
    assert timing.median >= 2e-3
    assert 1.1 < timing.ratio < 2.5
    assert min(timing.versus_seconds) >= 1e-3
    printed = capsys.readouterr().out
    assert printed == f"{timing}\n"
    assert f"slow / fast: {timing.ratio:.2f}" in printed
    assert "slow: " in printed
    assert " ms (" in printed


def test_compiling_is_left_out():
    traced = []

    @jax.jit
    def compiled(x):
        traced.append(x)
        return x + 1

    timing = jnp.timeit(compiled, 1.0, seconds=0.001)
    assert len(traced) == 1
    assert (timing.versus, timing.ratio) == (None, None)
    assert len(timing.seconds) >= 5


def test_rounds_with_a_compilation_are_left_out_up_to_the_third(monkeypatch, capsys):
    seconds = iter([9.0, 1e-6, 8.0, 7.0, 6.0, *[1e-6] * 99])

    def one_round(ways, calls):
        took = next(seconds)
        if took > 1:
            jax.jit(lambda x: x + took)(1.0)
        return {"0": took}

    monkeypatch.setattr("jfi._inspect._timing.one_round", one_round)
    timing = jnp.timeit(abs, -1, seconds=0)
    assert timing.seconds == (1e-6, 6.0, 1e-6, 1e-6, 1e-6)
    assert "e+" not in capsys.readouterr().out


def test_what_can_not_be_called_often_is_refused():
    for fn in (3, "x + 1", None, jnp.sin(1.0)):
        with pytest.raises(TypeError, match=r"no function.*timeit\(jnp.sin, x\)"):
            jnp.timeit(fn)
    with pytest.raises(TypeError, match="got 3, which is no function"):
        jnp.timeit(abs, -1, versus=3)
    donates = jax.jit(lambda x: x + 1, donate_argnums=0)
    with pytest.raises(TypeError, match="it donates an argument"):
        jnp.timeit(donates, jnp.ones(3))
    with pytest.raises(TypeError) as info:
        jnp.timeit(abs, round)
    assert "beside the first: timeit(f, versus=g)" in str(info.value.__notes__)


def test_results_are_waited_for():
    x = jnp.ones((400, 400))
    chain = jax.jit(lambda x: jax.lax.fori_loop(0, 20, lambda _, y: y @ x / 400, x))
    returned = jnp.timeit(lambda x: chain(x).block_until_ready(), x, seconds=0.05)
    assert jnp.timeit(chain, x, seconds=0.05).median > returned.median / 3


def test_random_numbers_stay_where_they_are():
    jnp.manual_seed(0)
    before = jnp.get_rng_state()
    jnp.timeit(jnp.randn, 3, seconds=0.001)
    assert jnp.get_rng_state() == before


def test_one_function_twice_has_two_names(capsys):
    jnp.timeit(abs, -1, versus=abs, seconds=0.001)
    assert "first / second: " in capsys.readouterr().out


def test_a_traced_argument_is_refused():
    with pytest.raises(TypeError, match="Call it outside"):
        jnp.jit(lambda x: jnp.timeit(jnp.sin, x))(1.0)


def test_functions_that_run_later_are_refused():
    def rows():
        yield 1

    async def fetch():
        return 1

    with pytest.raises(TypeError, match=r"rows\(\), which is a generator function"):
        jnp.timeit(rows, seconds=0.001)
    with pytest.raises(TypeError, match=r"fetch\(\), which is asynchronous"):
        jnp.timeit(lambda: 1, versus=fetch, seconds=0.001)


class Slow:
    """An array that comes late, as those of a busy device."""

    def __init__(self, x):
        self.x = x

    def step(self):
        self.x = self.x + 1


@pytest.mark.parametrize("way", ["result", "self", "argument"])
def test_arrays_in_objects_are_waited_for(way, monkeypatch):
    waited = []
    monkeypatch.setattr(jax, "block_until_ready", waited.append)
    held = Slow(jnp.ones(2))
    call = {"result": lambda: Slow(held.x), "self": held.step}.get(way)
    if call is None:
        jnp.timeit(lambda slow: slow.step(), held, seconds=0.001)
    else:
        jnp.timeit(call, seconds=0.001)
    assert waited
    assert all(len(found) == 1 for found in waited)
    assert waited[-1][0] is held.x or way == "result"
