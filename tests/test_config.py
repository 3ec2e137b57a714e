import contextlib
import threading

import jax
import numpy as np
import pytest
from subprocesses import output_of, run_python

import jfi as jnp


SHOW = """
import jfi, os
c = jfi.config()
print(c.default_dtype, c.default_device, c.enable_x64, c.preallocate, *c.set_by_jfi)
"""


def test_a_fresh_import_sets_every_default():
    assert output_of(SHOW, fresh=True) == (
        "float32 cpu False False explicit_x64_dtypes default_device preallocate"
    )


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"JFI_DEFAULTS": "jax"}, "float32 None False True"),
        (
            {"JFI_DEFAULTS": "jax", "JAX_ENABLE_X64": "1"},
            "float64 None True True",
        ),
        (
            {"JAX_ENABLE_X64": "1"},
            "float32 cpu True False explicit_x64_dtypes default_device preallocate",
        ),
        (
            {"JFI_DTYPE": "float64"},
            "float64 cpu True False explicit_x64_dtypes default_device preallocate",
        ),
        (
            {"JFI_DTYPE": "float64", "JAX_ENABLE_X64": "0"},
            "float64 cpu True False explicit_x64_dtypes default_device preallocate",
        ),
        (
            {"JFI_DTYPE": "bfloat16"},
            "bfloat16 cpu False False explicit_x64_dtypes default_device preallocate",
        ),
        (
            {"JAX_EXPLICIT_X64_DTYPES": "warn"},
            "float32 cpu False False default_device preallocate",
        ),
        (
            {"JAX_PLATFORMS": "cpu"},
            "float32 None False False explicit_x64_dtypes preallocate",
        ),
        (
            {"XLA_PYTHON_CLIENT_PREALLOCATE": "true"},
            "float32 cpu False True explicit_x64_dtypes default_device",
        ),
        (
            {"XLA_PYTHON_CLIENT_MEM_FRACTION": ".5"},
            "float32 cpu False True explicit_x64_dtypes default_device",
        ),
    ],
)
def test_what_the_environment_configures_is_kept(env, expected):
    assert output_of(SHOW, env=env) == expected


def test_what_the_script_configures_is_kept():
    code = """
import jax
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_default_device", jax.devices("cpu")[0])
import jfi
print(jfi.config().world, jfi.zeros(2).dtype, jfi.config().set_by_jfi)
"""
    assert output_of(code) == "mixed float32 ('explicit_x64_dtypes', 'preallocate')"


def test_a_wrong_environment_variable_is_refused():
    done = run_python("import jfi", env={"JFI_DEFAULTS": "numpy"}, check=False)
    assert "JFI_DEFAULTS is 'numpy'. Write JFI_DEFAULTS=jax" in done.stderr
    done = run_python("import jfi", env={"JFI_DTYPE": "int8"}, check=False)
    assert (
        "the environment variable JFI_DTYPE: set_default_dtype() got int8"
        in done.stderr
    )


def test_a_late_import_on_an_accelerator_warns():
    # A started backend that says it is no CPU: what a machine with a GPU shows.
    code = """
import jax, warnings
jax.devices()
jax.default_backend = lambda: "gpu"
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import jfi
print(seen[0].category.__name__, seen[0].message)
print("preallocate" in jfi.config().set_by_jfi)
"""
    first, second = output_of(code).splitlines()
    assert first.startswith("LateDefaultsWarning jfi was imported after JAX had")
    assert "set XLA_PYTHON_CLIENT_PREALLOCATE=false in the environment" in first
    assert second == "False"


def test_a_late_import_on_the_cpu_is_fine():
    assert output_of("import jax; jax.devices(); import jfi; print('ok')") == "ok"


def test_default_dtype_is_followed_and_restored():
    with jnp.default_dtype("float64"):
        assert jnp.zeros(2).dtype == np.float64
        with jnp.default_dtype(jnp.bfloat16):
            assert jnp.ones(2).dtype == jnp.bfloat16
        assert jnp.get_default_dtype() == np.float64
    assert jnp.zeros(2).dtype == np.float32


def test_default_dtype_is_restored_after_an_exception():
    with contextlib.suppress(ZeroDivisionError), jnp.default_dtype("float64"):
        1 / 0  # noqa: B018
    assert jnp.get_default_dtype() == np.float32


def test_contexts_belong_to_their_thread():
    seen = {}

    def other():
        seen["dtype"] = jnp.zeros(1).dtype
        seen["device"] = jax.config.jax_default_device

    with jnp.default_dtype("float64"), jnp.default_device("cpu:0"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert jnp.zeros(1).dtype == np.float64
    assert seen["dtype"] == np.float32
    assert seen["device"] == jax.config.jax_default_device


def test_the_global_default_reaches_other_threads():
    jnp.set_default_dtype("float64")
    seen = []
    thread = threading.Thread(target=lambda: seen.append(jnp.zeros(1).dtype))
    thread.start()
    thread.join()
    assert seen == [np.float64]


def test_compiled_functions_follow_a_changed_default():
    traces = []

    @jnp.jit
    def make():
        traces.append(None)
        return jnp.zeros(2)

    assert make().dtype == np.float32
    jnp.set_default_dtype("float64")
    assert make().dtype == np.float64
    jnp.set_default_dtype("float32")
    assert make().dtype == np.float32
    with jnp.default_dtype("float64"):
        assert make().dtype == np.float64
    assert len(traces) == 2  # one for each default, never again


def test_none_goes_back_to_jax():
    jnp.set_default_dtype(None)
    for x64, dtype in (True, np.float64), (False, np.float32):
        with jax.enable_x64(x64):
            assert jnp.zeros(2).dtype == dtype


def test_without_64_bit_types_a_64_bit_default_gives_32_bits():
    with jnp.default_dtype("float64"), jax.enable_x64(False):
        assert jnp.zeros(2).dtype == np.float32
        assert jnp.get_default_dtype() == np.float32


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: jnp.set_default_dtype("float63"),
            r"set_default_dtype\(\) got 'float63', which is no dtype of JAX. "
            "Write one of bfloat16, float16, float32, float64, bool",
        ),
        (
            lambda: jnp.set_default_dtype("int32"),
            "got int32, which is not a float dtype. Write one of bfloat16",
        ),
        (lambda: jnp.default_dtype(bool), "got bool, which is not a float dtype"),
        (lambda: jnp.resolve_dtype("datetime64[s]"), "which is no dtype of JAX"),
        (lambda: jnp.resolve_dtype(object), "which is no dtype of JAX"),
        (lambda: jnp.zeros(3, jnp.numpy.ones(2)), r"got an array for .*, x\.dtype"),
        (lambda: jnp.randn(3, dtype=np.ones(2)), r"got an array for .*, x\.dtype"),
        (lambda: jnp.zeros(2, "float63"), r"zeros\(\) got 'float63'"),
        (
            lambda: jnp.set_default_device("cuad"),
            r"set_default_device\(\) got the device 'cuad', which is not here. "
            "There is 'cpu:0'",
        ),
        (lambda: jnp.resolve_device("cpu:9"), "the device 'cpu:9', which is not here"),
        (lambda: jnp.resolve_device("cpu:x"), "the device 'cpu:x', which is not here"),
        (lambda: jnp.resolve_device(""), "the device '', which is not here"),
        (lambda: jnp.resolve_device(0), "the device 0, which is not here"),
        (lambda: jnp.zeros(2, device="cuad"), r"zeros\(\) got the device 'cuad'"),
        (
            lambda: jnp.set_default_device(
                jax.sharding.SingleDeviceSharding(jax.devices()[0])
            ),
            "got a Sharding, which is no single device. Pass it to the creation",
        ),
    ],
)
def test_wrong_names_are_answered_with_the_right_ones(call, message):
    before = jnp.config()
    with pytest.raises(jnp.DefaultsError, match=message):
        call()
    assert jnp.config() == before


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, "float32"), ("int8", "int8"), (float, "float32"), (int, "int32"),
        (bool, "bool"), (complex, "complex64"), (jnp.bfloat16, "bfloat16"),
        (np.dtype("uint16"), "uint16"), (jnp.float32, "float32"),
    ],
)  # fmt: skip
def test_resolve_dtype(given, expected):
    assert jnp.resolve_dtype(given).name == expected


def test_resolve_device():
    cpu = jax.devices("cpu")[0]
    sharding = jax.sharding.SingleDeviceSharding(cpu)
    assert jnp.resolve_device("cpu") == jnp.resolve_device("CPU:0") == cpu
    assert jnp.resolve_device(cpu) is cpu
    assert jnp.resolve_device(sharding) is sharding
    assert jnp.resolve_device() == jnp.get_default_device()


def test_default_dtype_for_device():
    assert jnp.default_dtype_for_device("cpu") == np.float32
    with jnp.default_dtype("float64"):
        assert jnp.default_dtype_for_device(jax.devices()[0]) == np.float64


TWO_DEVICES = """
import jax, jfi as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
first, second = jax.devices()
def where(x): return sorted(d.id for d in x.devices())
"""


ON_TWO_DEVICES = [
    "assert where(jnp.zeros(3)) == [0] and not jnp.zeros(3).committed",
    "x = jnp.zeros(3, device='cpu:1'); assert where(x) == [1] and x.committed",
    "assert where(jnp.zeros(3) + jnp.zeros(3, device='cpu:1')) == [1]",
    "jnp.set_default_device('cpu:1'); x = jnp.zeros(3); assert where(x) == [1]; "
    "assert not x.committed; assert jnp.get_default_device() == second; "
    "assert where(jnp.randn(3)) == [1]; assert where(jax.numpy.ones(2)) == [1]; "
    "assert jnp.config().default_device == 'cpu:1'; "
    "jnp.set_default_device(None); assert where(jnp.zeros(3)) == [0]",
    "with jnp.default_device(second): assert where(jnp.eye(2)) == [1]\n"
    "assert where(jnp.eye(2)) == [0]",
    "s = NamedSharding(Mesh(np.array([first, second]), 'i'), P('i'))\n"
    "for make in (jnp.zeros, jnp.ones, jnp.empty, jnp.randn, jnp.rand):\n"
    "    assert where(make((4,), device=s)) == [0, 1], make\n"
    "assert where(jnp.to(np.ones(4), s)) == [0, 1]",
    "t = jnp.to({'a': np.ones(2), 'b': 'x', 'c': jnp.key(0)}, 'cpu:1')\n"
    "assert where(t['a']) == [1] and t['b'] == 'x' and where(t['c']) == [1]",
    "for make in (jnp.arange, jnp.eye, jnp.randperm):\n"
    "    x = make(3, device='cpu:1'); assert where(x) == [1] and x.committed\n"
    "for x in (jnp.linspace(0, 1, 3, device='cpu:1'), "
    "jnp.logspace(0, 1, 3, device=second), jnp.array([1.0], device='cpu:1'), "
    "jnp.asarray(np.ones(2), device='cpu:1'), jnp.full(2, 1.0, device='cpu:1'), "
    "jnp.zeros_like(1.0, device='cpu:1'), jnp.normal(size=2, device='cpu:1'), "
    "jnp.choice(5, device='cpu:1'), jnp.make_random_key(device='cpu:1')):\n"
    "    assert where(x) == [1] and x.committed",
    "f = jnp.jit(lambda x: x + jnp.ones(3, device='cpu:1'))\n"
    "assert where(f(jnp.zeros(3, device='cpu:0'))) == [0]",
    "x = jnp.zeros(2, device='cpu:0')\n"
    "for make in (jnp.zeros, jnp.arange, jnp.eye, jnp.randn, lambda n, **k: "
    "jnp.array([1.0, 2.0], **k), lambda n, **k: jnp.linspace(0, 1, n, **k)):\n"
    "    f = lambda x: x + make(2, device='cpu:1', "
    "**({'key': jnp.key(0)} if make is jnp.randn else {}))\n"
    "    assert where(jnp.jit(f)(x)) == [0]",
    "f = jnp.jit(lambda x: jnp.to(x, 'cpu:1'))\n"
    "assert where(f(jnp.zeros(3, device='cpu:0'))) == [0]",
    "jnp.manual_seed(0); a = jnp.randn(3); jnp.manual_seed(0)\n"
    "assert (np.asarray(a) == np.asarray(jnp.randn(3, device='cpu:1'))).all()",
    "jnp.manual_seed(0); a = jnp.randn(3); jnp.manual_seed(0)\n"
    "with jnp.default_device('cpu:1'): b = jnp.randn(3)\n"
    "assert (np.asarray(a) == np.asarray(b)).all()",
]
EACH = """
import traceback
for code in {}:
    try:
        exec(code, {{**globals()}})
    except Exception:
        print(code, traceback.format_exc(), sep='\\n')
    jnp.set_default_device(None)
"""


def test_two_devices():
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    failures = output_of(TWO_DEVICES + EACH.format(ON_TWO_DEVICES), env=flags)
    assert not failures, failures


def test_a_failure_on_two_devices_is_seen():
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    wrong = ["assert where(jnp.zeros(3)) == [1]"]
    assert "AssertionError" in output_of(TWO_DEVICES + EACH.format(wrong), env=flags)


def test_a_device_that_is_not_there_is_an_error_as_of_jax():
    for error in (jnp.DeviceError, jnp.DefaultsError, ValueError, RuntimeError):
        with pytest.raises(error, match="which is not here"):
            jnp.resolve_device("tpu:7")


def test_a_dtype_that_is_not_there_is_an_error_as_of_numpy():
    for error in (jnp.DefaultsError, TypeError, ValueError):
        with pytest.raises(error, match="which is no dtype of JAX"):
            jnp.zeros(3, "float31")
