import enum
import inspect
import re
import warnings

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jfi as jnp


FILLED = ["zeros", "ones", "empty"]
NP64 = np.array([1.0, 2.0])


@pytest.mark.parametrize("name", FILLED)
@pytest.mark.parametrize("shape", [3, (2, 3), (), (0,), [2, 2]])
def test_filled(name, shape):
    x = getattr(jnp, name)(shape)
    expected = getattr(jax.numpy, name)(shape)
    assert x.dtype == np.float32
    assert x.shape == expected.shape
    assert (x == expected).all()


@pytest.mark.parametrize("name", [*FILLED, "eye", "identity", "tri", "arange"])
def test_the_default_dtype_and_an_explicit_one(name, x64):
    make = getattr(jnp, name)
    argument = 3.0 if name == "arange" else 3
    with jnp.default_dtype("bfloat16"):
        assert make(argument).dtype == jnp.bfloat16
    assert make(argument).dtype == np.float32
    assert make(argument, dtype="int16").dtype == np.int16
    assert make(argument, dtype=float).dtype == np.float32
    if x64:
        assert make(argument, dtype="float64").dtype == np.float64


@pytest.mark.usefixtures("mixed_world")
@pytest.mark.parametrize(
    ("make", "dtype"),
    [
        (lambda: jnp.array(1.0), "float32"),
        (lambda: jnp.array([1.0, 2]), "float32"),
        (lambda: jnp.array([[1, 2], [3, 4.5]]), "float32"),
        (lambda: jnp.array([1, 2]), "int64"),
        (lambda: jnp.array([True, False]), "bool"),
        (lambda: jnp.array(1j), "complex64"),
        (lambda: jnp.array([1.0, 1j]), "complex64"),
        (lambda: jnp.array([]), "float32"),
        (lambda: jnp.array([[], []]), "float32"),
        (lambda: jnp.array(NP64), "float64"),
        (lambda: jnp.array([np.float64(1.0), 2.0]), "float64"),
        (lambda: jnp.array([NP64, NP64]), "float64"),
        (lambda: jnp.array(np.float16(1.0)), "float16"),
        (lambda: jnp.array([jnp.zeros((), "bfloat16"), 1.0]), "bfloat16"),
        (lambda: jnp.array([1.0], dtype="float64"), "float64"),
        (lambda: jnp.asarray(1.0), "float32"),
        (lambda: jnp.asarray(NP64), "float64"),
        (lambda: jnp.asarray((1.0, 2.0)), "float32"),
        (lambda: jnp.full(2, 1), "int64"),
        (lambda: jnp.full(2, 1.0), "float32"),
        (lambda: jnp.full(2, NP64), "float64"),
        (lambda: jnp.full(2, 1j), "complex64"),
        (lambda: jnp.arange(3), "int64"),
        (lambda: jnp.arange(0, 1, 0.25), "float32"),
        (lambda: jnp.arange(np.float64(3)), "float64"),
        (lambda: jnp.linspace(0, 1, 3), "float32"),
        (lambda: jnp.linspace(NP64, 1.0, 3), "float64"),
        (lambda: jnp.linspace(0, 1j, 3), "complex64"),
        (lambda: jnp.linspace(np.arange(2), 5, 3), "float32"),
        (lambda: jnp.linspace(0, 9, 3, dtype=int), "int64"),
        (lambda: jnp.logspace(0, 1, 3), "float32"),
        (lambda: jnp.geomspace(1, 2, 3), "float32"),
        (lambda: jnp.zeros_like(1.0), "float32"),
        (lambda: jnp.zeros_like(NP64), "float64"),
        (lambda: jnp.ones_like(jnp.arange(2)), "int64"),
        (lambda: jnp.full_like(np.float64(1), 3), "float64"),
        (lambda: jnp.empty_like(jnp.zeros(2, "float16")), "float16"),
        (lambda: jnp.full_like(jnp.zeros(2), 3, dtype="int8"), "int8"),
        (lambda: jnp.full_like(jnp.zeros(2, "uint32"), 2**32 - 1), "uint32"),
    ],
)
def test_created_floats_follow_the_default_and_data_keep_their_dtype(make, dtype):
    assert make().dtype.name == dtype


def test_created_numbers_are_weakly_typed_where_those_of_jax_are():
    assert jnp.asarray(1.0).weak_type
    assert not jnp.array([1.0]).weak_type


MADE_OF_A_NUMBER = {
    "array": lambda x: jnp.array(x),
    "array of a list": lambda x: jnp.array([x, 1.0]),
    "array of lists": lambda x: jnp.array([[x], [2]]),
    "asarray": lambda x: jnp.asarray((x, x)),
    "full": lambda x: jnp.full(2, x),
    "linspace": lambda x: jnp.linspace(0, x, 3),
    "logspace": lambda x: jnp.logspace(0, x, 3),
    "geomspace": lambda x: jnp.geomspace(1, x, 3),
    "zeros_like": lambda x: jnp.zeros_like(x),
    "full_like": lambda x: jnp.full_like(x, 3),
}


@pytest.mark.parametrize("number", [3.0, 3, 3 + 1j])
@pytest.mark.parametrize(
    ("x64", "default"),
    [(False, "float32"), (True, "float32"), (True, "bfloat16"), (True, "float64")],
)
def test_a_python_number_is_one_under_a_transformation_too(number, x64, default):
    with jax.enable_x64(x64), jnp.default_dtype(default):
        every = jnp.jit(lambda x: {k: make(x) for k, make in MADE_OF_A_NUMBER.items()})
        for name, traced in every(number).items():
            make = MADE_OF_A_NUMBER[name]
            plain = make(number)
            assert plain.dtype == traced.dtype, name
            np.testing.assert_allclose(
                np.asarray(plain, complex),
                np.asarray(traced, complex),
                rtol=1e-2,
                err_msg=name,
            )
            if isinstance(number, float):
                _, back = jax.vjp(make, number)
                assert back(plain)[0].shape == ()


@pytest.mark.usefixtures("mixed_world")
def test_a_number_that_jax_made_of_python_numbers_is_one():
    assert jnp.array([jnp.sin(2.0), 1.0]).dtype == np.float32
    assert jnp.array(jnp.sin(jnp.float64(2.0))).dtype == np.float64
    assert jnp.array(jnp.mean(jnp.arange(3))).dtype == np.float64


@pytest.mark.usefixtures("mixed_world")
def test_subclasses_of_python_numbers_are_python_numbers():
    class Metres(float):
        pass

    class Side(enum.IntEnum):
        LEFT = 1

    assert jnp.array(Metres(2)).dtype == np.float32
    assert jnp.array([Side.LEFT, 1.0]).dtype == np.float32
    assert jnp.array([Side.LEFT]).dtype == np.int64


@pytest.mark.parametrize("dtype", [float, int, complex])
def test_pythons_types_are_the_defaults(dtype, x64):
    wide = {float: "float32", int: "int64" if x64 else "int32", complex: "complex64"}
    expected = wide[dtype]
    for made in (
        jnp.zeros(2, dtype),
        jnp.array([1], dtype),
        jnp.arange(2, dtype=dtype),
        jnp.to(jnp.ones(2), dtype),
        jnp.linspace(0, 1, 2, dtype=dtype),
    ):
        assert made.dtype == expected


@pytest.mark.parametrize("default", ["float64", "float16", "bfloat16"])
def test_complex_follows_the_default(default):
    with jnp.default_dtype(default):
        expected = "complex128" if default == "float64" else "complex64"
        assert jnp.array([1j]).dtype.name == expected
        assert jnp.linspace(0, 1j, 2).dtype.name == expected


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.integers(-9, 9),
            st.booleans(),
            st.floats(-9, 9),
            st.complex_numbers(max_magnitude=9),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_array_of_python_numbers_has_numpys_kind_and_values(data):
    made, numpys = jnp.array(data), np.array(data)
    assert made.dtype.kind == numpys.dtype.kind
    np.testing.assert_array_equal(made, numpys.astype(made.dtype))


def test_integers_that_the_dtype_lacks_are_refused():
    wide = 2**40
    for make in (jnp.array, jnp.asarray, lambda x: jnp.full(2, x)):
        with jax.enable_x64(False), pytest.raises(OverflowError) as caught:
            make(wide)
        assert 'jfi.set_default_dtype("float64")' in caught.value.__notes__[-1]
    like = jnp.ones(2, "int8")
    for make in (
        lambda: np.full(2, 300, "int8"),
        lambda: jnp.full(2, 300, "int8"),
        lambda: jnp.full(2, -1, "uint8"),
        lambda: jnp.full_like(like, 300),
        lambda: jnp.array(300, "int8"),
    ):
        with pytest.raises(OverflowError) as caught:
            make()
        assert "64" not in "".join(getattr(caught.value, "__notes__", []))
    assert jnp.full(2, 300.0, "int8").shape == jnp.full(2, 255, "uint8").shape
    assert jnp.full(2, 300, "float16").tolist() == [300, 300]


def test_under_jit():
    def build(x):
        return jnp.zeros(2), jnp.array([1.0]), jnp.arange(3.0), jnp.full_like(x, 2)

    plain, jitted = build(NP64), jnp.jit(build)(NP64)
    for a, b in zip(plain, jitted, strict=True):
        assert a.dtype == b.dtype
        assert (a == b).all()


def test_where_jax_is_told_to_cut_64_bits_it_warns():
    before = jax.config.jax_explicit_x64_dtypes
    jax.config.update("jax_explicit_x64_dtypes", "warn")
    try:
        with pytest.warns(UserWarning, match="float64"):
            assert jnp.zeros(2, dtype="float64").dtype == np.float32
    finally:
        jax.config.update("jax_explicit_x64_dtypes", before)


@pytest.mark.usefixtures("mixed_world")
def test_numpys_arguments():
    assert jnp.array([1, 2], ndmin=2).shape == (1, 2)
    assert jnp.array(object=[1], dtype=float, copy=True, order="K").dtype == np.float32
    values, step = jnp.linspace(0, 1, 5, retstep=True)
    assert values.shape == (5,)
    assert step == 0.25
    assert jnp.linspace(0, 1, 5, endpoint=False)[-1] == np.float32(0.8)
    assert (jnp.eye(2, 3, k=1) == np.eye(2, 3, k=1)).all()
    assert jnp.zeros_like(jnp.zeros(3), shape=(2,)).shape == (2,)


# ---------------------------------------------------------------------------- to


def test_to_a_dtype_converts_arrays_and_nothing_else():
    marker = object()
    tree = {"w": jnp.ones(2), "n": np.arange(3), "name": "a", "f": 1.5, "o": marker}
    out = jnp.to(tree, "float16")
    assert out["w"].dtype == out["n"].dtype == np.float16
    assert isinstance(out["n"], jax.Array)
    assert (out["name"], out["f"]) == ("a", 1.5)
    assert out["o"] is marker
    assert tree["w"].dtype == np.float32


def test_to_takes_device_and_dtype():
    x = jnp.to(np.ones(2), "cpu", dtype="float32")
    assert x.dtype == np.float32
    assert x.committed
    y = jnp.to(np.ones(2), device="cpu:0", dtype=jnp.bfloat16)
    assert y.dtype == jnp.bfloat16
    assert jnp.to(jnp.ones(2), jax.devices()[0]).committed


def test_to_leaves_words_and_keys_alone():
    words, key = np.array(["a", "b"]), jnp.key(0)
    out = jnp.to({"words": words, "key": key}, "float32")
    assert out["words"] is words
    assert out["key"].dtype == key.dtype


def test_to_leaves_arrays_that_jax_has_not():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    records = np.zeros(2, dtype=[("a", "f8")])
    out = jnp.to({"masked": masked, "records": records}, "float32")
    assert out["masked"] is masked
    assert out["records"] is records
    assert jnp.to(np.float64(2), "float32").dtype == np.float32


@pytest.mark.usefixtures("mixed_world")
def test_to_under_jit():
    f = jnp.jit(lambda x: jnp.to({"x": x}, "cpu", dtype="float64"))
    assert f(jnp.ones(2))["x"].dtype == np.float64
    assert jax.grad(lambda x: jnp.to(x, "float64").sum())(1.0) == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: jnp.to(x, "nowhere"),
            "the device 'nowhere', which is not here.*'nowhere', which is no dtype",
        ),
        (lambda x: jnp.to(x, "cpu", device="cpu"), r"to\(\) got two devices, 'cpu'"),
        (lambda x: jnp.to(x, "int8", dtype="int16"), "got two dtypes, 'int8'"),
        (lambda x: jnp.to(x, 3), "got 3, which is no dtype of JAX"),
    ],
)
def test_to_refuses(call, message):
    with pytest.raises(jnp.DefaultsError, match=message):
        call(jnp.ones(2))


def outcome(create, *args, **kwargs):
    """What a call returns, or the type of its error; JAX warns of what it will drop."""
    try:
        with warnings.catch_warnings(action="ignore"):
            made = create(*args, **kwargs)
    except (TypeError, ValueError) as error:
        return type(error)
    return made.dtype, made.shape, type(made)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
@pytest.mark.parametrize("dtype", [jax.random.key(0).dtype, jax.dtypes.float0])
def test_dtypes_of_keys_and_of_gradients_of_integers_are_as_in_jax(name, dtype):
    calls = [
        lambda module: getattr(module, name)(3, dtype=dtype),
        lambda module: getattr(module, name + "_like")(jnp.ones(3), dtype=dtype),
        lambda module: module.full((2, 3), 0, dtype),
        lambda module: module.asarray(jax.random.split(jax.random.key(0)), dtype),
    ]
    for call in calls:
        assert outcome(call, jnp) == outcome(call, jax.numpy)
    with pytest.raises(jnp.DefaultsError, match="no dtype of JAX"):
        jnp.set_default_dtype(dtype)


@pytest.mark.parametrize(
    "args", [(True,), (False,), (True, "K"), (True, "K", 2), (True, "K", 2, 1)]
)
def test_positional_arguments_of_array_are_those_of_jax(args):
    for options in {}, {"copy": False}:
        ours, theirs = (
            outcome(module.array, np.ones(2), "float32", *args, **options)
            for module in (jnp, jax.numpy)
        )
        assert ours == theirs


@pytest.mark.parametrize(
    "name",
    """zeros ones empty full eye identity tri arange linspace logspace geomspace array
    asarray zeros_like ones_like full_like empty_like""".split(),
)
def test_every_argument_is_documented_once(name):
    create = getattr(jnp, name)
    arguments = create.__doc__.partition("Args:")[2].partition("Returns:")[0]
    for parameter in inspect.signature(create).parameters:
        assert len(re.findall(rf"\n    \*?{parameter}: ", arguments)) == 1
    assert "DefaultsError: There is no such dtype" in create.__doc__


# ------------------------------------------------------------------- sizes one by one

X = np.ones(3, np.float32)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn"])
def test_sizes_one_by_one(name):
    create = getattr(jnp, name)
    assert create(2, 3).shape == create((2, 3)).shape == (2, 3)
    assert create(2, np.int64(3), 4).shape == (2, 3, 4)
    x = create(2, 3, dtype="float16", device="cpu")
    assert (x.shape, x.dtype.name) == ((2, 3), "float16")


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_what_jax_means_stays(name):
    create = getattr(jnp, name)
    assert create(3, "float32").shape == (3,)
    assert create(3, np.dtype("int32")).dtype == "int32"
    assert create((2, 3), int).dtype == jax.numpy.zeros(1, int).dtype
    assert create(shape=(2, 3), dtype=bool).dtype == bool
    assert create([2, 3]).shape == (2, 3)
    assert create(()).shape == ()
    assert jax.jit(lambda: create(2, 3))().shape == (2, 3)


@pytest.mark.parametrize("args", [(2, 3, int), (2, 3, 4.0), ((2, 3), 4), (2, True)])
def test_other_sizes_are_refused(args):
    with pytest.raises(
        TypeError, match=r"Write a tuple and the dtype: jnp\.zeros\(\(2"
    ):
        jnp.zeros(*args)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda **w: jnp.zeros(2, 3, **w), {"requires_grad": "jnp.grad(loss)(x)"}),
        (
            lambda **w: jnp.ones(2, **w),
            {"layout": "one layout", "out": "jnp.ones(.."},
        ),
        (lambda **w: jnp.empty(**w), {"size": "jnp.empty((2, 3), ...)"}),
        (lambda **w: jnp.full(2, 1.0, **w), {"pin_memory": "Leave it out"}),
        (lambda **w: jnp.zeros_like(X, **w), {"memory_format": "one layout"}),
        (lambda **w: jnp.array([1.0], **w), {"requires_grad": "jnp.grad(loss)(x)"}),
        (lambda **w: jnp.tensor([1.0], **w), {"pin_memory": "Leave it out"}),
        (lambda **w: jnp.linspace(0, 1, **w), {"steps": "num="}),
        (lambda **w: jnp.arange(0, **w), {"end": "stop="}),
        (lambda **w: jnp.randn(3, **w), {"generator": "(0), and g.randn(...)"}),
        (lambda **w: jnp.rand(**w), {"size": "jnp.rand((2, 3), ...)"}),
        (lambda **w: jnp.randn_like(X, **w), {"requires_grad": "jnp.grad(loss)(x)"}),
        (lambda **w: jnp.randperm(3, **w), {"generator": "g.randperm(...)"}),
        (lambda **w: jnp.bernoulli(0.5, **w), {"out": "x = jnp.bernoulli(...)"}),
        (lambda **w: jnp.multinomial(X, 1, **w), {"generator": "g.multinomial(.."}),
    ],
)
def test_other_words_of_pytorch_name_the_line_to_write(call, line):
    for word, instead in line.items():
        said = rf"^\w+\(\) got {word}=4\. .*{re.escape(instead)}"
        with pytest.raises(TypeError, match=said):
            call(**{word: 4})
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        call(colour=4)


def test_full_takes_a_tuple():
    assert jnp.full((2, 3), 0.5).shape == (2, 3)
    assert jnp.full(2, 3).tolist() == [3, 3]
    for value in (0.5, 4):
        with pytest.raises(TypeError, match=rf"jnp\.full\(\(2, 3\), {value}\)\.$"):
            jnp.full(2, 3, value)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (np.array([1.0, 2.0], object), "x.astype(float)"),
        (np.array(["1.5", "2"]), "x.astype(float)"),
        (np.array([1, 2], "clongdouble"), "x.astype(complex)"),
        (np.array([1, 3], "datetime64[m]"), "(x - x[0]) / np.timedelta64(1, 's')"),
        (np.array([1, 3], "timedelta64[h]"), "x / np.timedelta64(1, 's')"),
        (np.array([(1, 2.0)], [("t", "i4"), ("y", "f4")]), "x['t']"),
    ],
)
@pytest.mark.parametrize("create", [jnp.array, jnp.asarray])
def test_arrays_of_a_dtype_that_jax_does_not_have(create, data, line):
    text = f"an array of {data.dtype}, which JAX does not have."
    with pytest.raises(TypeError, match=re.escape(text)) as caught:
        create(data)
    assert str(caught.value).endswith(f"Convert it to numbers first: {line}.")
    with jnp.default_dtype("float64"):
        assert create(eval(line, {"x": data, "np": np})).size == data.size
