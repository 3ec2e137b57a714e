"""NumPy arrays outside functions under autojit that are written in place.

Without 64-bit types JAX remembers the 32-bit form of a float64 array that a program
has captured.
"""

import numpy as np
import pytest

import jfi
from jfi import autojit


GRID = np.array([3.0, 4.0])
TABLE = {"a": np.array([3.0, 4.0])}
ROWS = [0, np.array([3.0, 4.0])]
PAIR = (np.array([3.0, 4.0]),)


class Holder:
    grid = np.array([3.0, 4.0])

    def __init__(self):
        self.gain = np.array([3.0, 4.0])


HELD = Holder()


def plain(x):
    return GRID * x


def with_default(x, grid=TABLE["a"]):
    return grid * x


def capturing():
    grid = PAIR[0]
    return lambda x: grid * x


CAPTURED = capturing()


class Model:
    def of_module(self, x):
        return GRID * x

    def of_dict(self, x):
        return TABLE["a"] * x

    def of_list(self, x):
        return ROWS[1] * x

    def of_tuple(self, x):
        return PAIR[0] * x

    def of_object(self, x):
        return HELD.gain * x

    def of_other_class(self, x):
        return Holder.grid * x

    def of_function(self, x):
        return plain(x)

    def of_default(self, x):
        return with_default(x)

    def of_own_default(self, x, grid=GRID):
        return grid * x

    def of_keyword(self, x, *, grid=GRID):
        return grid * x

    def of_closure(self, x):
        return CAPTURED(x)

    def of_branch(self, x):
        return jfi.cond(True, lambda: GRID * x, lambda: x)

    def of_loop(self, x):
        return jfi.scan(lambda c, _: (c * GRID, None), x, None, length=1)[0]

    def of_batch(self, x):
        return jfi.vmap(lambda row: row * GRID)(x[None])[0]

    def of_where(self, x):
        return jfi.where(x > 0, GRID, x)

    @staticmethod
    def of_static(x):
        return GRID * x

    @classmethod
    def of_class(cls, x):
        return GRID * x


ARRAYS = {"dict": TABLE["a"], "list": ROWS[1], "tuple": PAIR[0], "object": HELD.gain}
ARRAYS |= {"other_class": Holder.grid, "default": TABLE["a"], "closure": PAIR[0]}


@pytest.fixture(autouse=True)
def _values_of_the_start():
    yield
    for array in (GRID, *ARRAYS.values()):
        array[:] = 3, 4


@pytest.mark.parametrize("name", [n for n in vars(Model) if n.startswith("of_")])
def test_an_array_that_a_method_reads_is_seen_when_it_changes(name, x64):
    array = ARRAYS.get(name.removeprefix("of_"), GRID)
    f = autojit(lambda model, x: getattr(model, name)(x))
    before = GRID, TABLE["a"], ROWS[1], PAIR, PAIR[0], HELD.gain, Holder.grid
    for k in range(3):
        array[0] = k
        np.testing.assert_array_equal(f(Model(), jfi.asarray(np.ones(2))), [k, 4])
    assert jfi.asarray(array)[0] == 2  # nor is it remembered outside
    after = GRID, TABLE["a"], ROWS[1], PAIR, PAIR[0], HELD.gain, Holder.grid
    assert all(a is b for a, b in zip(before, after, strict=True))


def test_an_array_that_a_method_reads_in_both_worlds():
    f = autojit(lambda model, x: model.of_module(x))
    x = np.float32(0.5)
    for _ in range(2):
        np.testing.assert_array_equal(f(Model(), x), [1.5, 2.0])
        with jfi.default_dtype("float64"):
            assert f(Model(), x).dtype == Model().of_module(jfi.asarray(x)).dtype


def test_what_a_method_writes_to_an_array_of_a_module_is_refused():
    class Writer:
        def note(self, x):
            GRID[0] = 7
            return x

    f = autojit(lambda writer, x: writer.note(x))
    with pytest.warns(jfi.UncompiledWarning):
        f(Writer(), jfi.ones(2))
    assert GRID[0] == 7


class Bag(list):
    pass


BAG = Bag([np.array([3.0, 4.0])])


def test_a_list_with_attributes_stays_what_it_is(x64):
    class Reader:
        def read(self, x):
            return BAG[0] * x

    item = BAG[0]
    f = autojit(lambda reader, x: reader.read(x))
    np.testing.assert_array_equal(f(Reader(), jfi.asarray(np.ones(2))), [3, 4])
    assert (len(BAG), vars(BAG)) == (1, {})
    assert BAG[0] is item


def test_arrays_are_put_back_after_an_error():
    class Failing:
        def fail(self, x):
            raise ArithmeticError(GRID is before)

    before = GRID
    with pytest.raises(ArithmeticError):
        autojit(lambda failing, x: failing.fail(x))(Failing(), jfi.ones(2))
    assert GRID is before


def test_the_order_of_an_array_in_memory_is_kept(monkeypatch):
    monkeypatch.setitem(globals(), "TABLE", np.ones((2, 3)))

    def laid_out(x):
        return x * TABLE.ravel("K"), TABLE.strides, np.isfortran(TABLE)

    laid_out_jitted = autojit(laid_out)
    table = np.arange(6.0).reshape(2, 3)
    for order in "C", "F", "C":
        globals()["TABLE"] = np.array(table, order=order)
        found, expected = laid_out_jitted(2.0), laid_out(2.0)
        assert found[1:] == expected[1:] == (TABLE.strides, order == "F")
        assert found[0].tolist() == expected[0].tolist()
