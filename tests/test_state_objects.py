"""`save_state`: methods, keys of any kind, ordered dicts, spawning, threads."""

import collections
import datetime as dt
import enum
import functools
import operator
import re
import threading
from typing import NamedTuple

import jax
import lineax
import numpy as np
import pytest

import jfi as jnp


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Point(NamedTuple):
    x: int


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run[1].npz"


def loaded(path, state, like):
    jnp.save_state(path, state)
    return jnp.load_state(path, like=like)


class Model:
    def __init__(self):
        self.w = jnp.zeros(2)
        self.forward, self.twice = self.double, functools.partial(self.double, k=2)

    def double(self, k=1):
        return 2 * k * self.w


def test_methods_in_attributes_are_those_of_the_new_object(path):
    model, like = Model(), Model()
    model.w += 1
    found = loaded(path, model, like)
    assert found.forward.__self__ is found
    assert found.forward().tolist() == [2, 2]
    assert found.twice().tolist() == [4, 4]
    assert like.forward.__self__ is like


@pytest.mark.parametrize("tool", [jax.jit, jnp.autojit, lambda f: lambda: f()])
def test_functions_that_hold_the_state_are_refused(path, tool):
    model = Model()
    model.run = tool(model.double)
    with pytest.raises(jnp.StateError, match=r"state\.run is .* class Model"):
        jnp.save_state(path, model)


def test_methods_of_generators_are_refused(path):
    with pytest.raises(jnp.StateError, match=r"state\['draw'\] .* class Generator"):
        jnp.save_state(path, {"draw": np.random.default_rng(0).normal})


def test_keys_and_members_may_be_of_any_class(path):
    state = {
        "keys": {Color.RED: 1.0, Point(3): jnp.ones(1), np.sin: 2, int: 3},
        "days": {dt.date(2026, 1, 1): 1, dt.date(2026, 1, 2): 2},
        "colors": {Color.RED, Color.BLUE},
        "points": frozenset({Point(1), Point(2)}),
    }
    like = {
        "keys": {int: 0, np.sin: 0, Point(3): jnp.zeros(1), Color.RED: 0.0},
        "days": {dt.date(2026, 1, 2): 0, dt.date(2026, 1, 1): 0},
        "colors": {Color.BLUE},
        "points": frozenset({Point(2), Point(5)}),
    }
    assert loaded(path, state, like) == state


def test_ordered_dicts_keep_their_items_and_order(path):
    state = collections.OrderedDict(a=1, b=jnp.ones(1), c=3)
    state.move_to_end("a")
    found = loaded(path, state, state)
    assert list(found.items()) == list(state.items())
    assert list(reversed(found)) == ["a", "c", "b"]


def test_generators_spawn_as_if_they_had_not_been_saved(path):
    rng = np.random.default_rng(7)
    rng.spawn(2)
    found = loaded(path, rng, np.random.default_rng(8))
    assert found.spawn(1)[0].random() == rng.spawn(1)[0].random()
    assert found.random() == rng.random()


def test_long_patterns_and_getters_are_told_apart(path):
    one, other = re.compile("a" * 300), re.compile("a" * 301)
    assert loaded(path, [one], [one]) == [one]
    with pytest.raises(jnp.StateError, match=r"state\[0\] is re\.compile"):
        loaded(path, [one], [other])
    get = operator.itemgetter(1)
    assert loaded(path, [get], [get])[0]("ab") == "b"


def test_threads_may_save_to_one_file(path):
    faults = []

    def save(k):
        try:
            for _ in range(5):
                jnp.save_state(path, {"x": np.full(20_000, k)}, random=False)
                x = jnp.load_state(path)["x"]
                assert (x == x[0]).all()
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=save, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert [file.name for file in path.parent.iterdir()] == [path.name]


class Rotated:
    def __init__(self, angle):
        self.angle = jnp.asarray(angle)

    @functools.cached_property
    def sine(self):
        return jnp.sin(self.angle)


@pytest.mark.parametrize("in_file", [False, True])
@pytest.mark.parametrize("in_like", [False, True])
def test_what_a_property_has_remembered_is_that_of_the_file(path, in_file, in_like):
    state, like = Rotated(1.0), Rotated(2.0)
    _ = in_file and state.sine, in_like and like.sine
    found = loaded(path, state, like)
    assert ("sine" in vars(found)) is in_file
    assert found.sine == jnp.sin(1.0)


def test_long_keys_are_cut_in_the_names_of_arrays(path):
    state = {"x" * 70_000 + end: np.array([len(end)]) for end in ("", "y", "yy")}
    assert loaded(path, state, state) == state
    assert max(map(len, np.load(path))) < 2000


def test_a_file_keeps_its_permissions(path):
    jnp.save_state(path, 1)
    path.chmod(0o600)
    jnp.save_state(path, 2)
    assert (path.stat().st_mode & 0o777, jnp.load_state(path)) == (0o600, 2)


def test_dtypes_that_no_file_can_tell_are_refused(path):
    x = np.zeros(2, [("a", jnp.bfloat16)])
    with pytest.raises(jnp.StateError, match=r"state\['x'\] is .*bfloat16.*its fields"):
        jnp.save_state(path, {"x": x})


def test_constants_without_like_say_what_to_write(path):
    jnp.save_state(path, {"x": range(3)})
    message = (
        r"state\['x'\] is range\(0, 3\) in the file, .*load_state\(path, like=\.\.\."
    )
    with pytest.raises(jnp.StateError, match=message):
        jnp.load_state(path)


def test_constants_of_libraries_come_from_the_state_passed_as_like(path):
    # lineax compares its tags by identity.
    make = lambda *tags: lineax.MatrixLinearOperator(jnp.eye(2), tags)
    tags = lineax.positive_semidefinite_tag, lineax.unit_diagonal_tag
    found = loaded(path, {"op": make(*tags)}, {"op": make(*tags)})["op"]
    assert lineax.is_positive_semidefinite(found)
    assert found.tags == frozenset(tags)
    assert loaded(path, list(tags), list(tags))[0] is tags[0]
    message = "positive_semidefinite_tag in the file, and there is .*unit_diagonal_tag"
    with pytest.raises(jnp.StateError, match=message):
        loaded(path, list(tags), [*tags[::-1]])
