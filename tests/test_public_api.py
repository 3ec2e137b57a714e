"""The namespace: what is in it, what importing it does, that it is documented."""

import doctest
import inspect
import json

import jax
import jax.numpy
import jedi
import pytest
from subprocesses import output_of, run_python

import jfi
from jfi._dispatch._names import functions_of


PUBLIC = sorted(n for n in dir(jfi) if not n.startswith("_"))
MADE = functions_of("")
OWN = {
    name: value
    for name in PUBLIC
    if (getattr(value := getattr(jfi, name), "__module__", None) or "").startswith(
        "jfi"
    )
    and name not in MADE  # documented by JAX: test_wrapped_functions
}
# What jfi gives in place of jax.numpy's: creation with defaults, its own modules.
REPLACED = {
    "arange",
    "empty",
    "eye",
    "fft",
    "full",
    "geomspace",
    "identity",
    "linalg",
    "linspace",
    "logspace",
    "ones",
    "tri",
    "zeros",
}
WITH_DEFAULTS = {
    "array", "asarray", "empty_like", "full", "full_like", "geomspace", "linspace",
    "logspace", "ones_like", "zeros_like",
}  # fmt: skip
ADDED = """
    jit grad value_and_grad vmap jacfwd jacrev jacobian hessian jvp vjp linearize
    checkpoint custom_jvp custom_vjp pure_callback stop_gradient eval_shape make_jaxpr
    block_until_ready device_put ShapeDtypeStruct Array key cond switch scan while_loop
    fori_loop associative_scan map lax nn tree scipy random linalg fft debug sharding
    jax numpy jaxm cat norm t softmax clamp unsqueeze permute bmm topk gather
    masked_fill flatten item detach to_numpy to lu_factor lu_solve cholesky_solve
    cho_factor set_default_dtype get_default_dtype set_default_device
    get_default_device resolve_device resolve_dtype default_dtype_for_device config
    default_dtype default_device manual_seed seed randn rand randint randperm normal
    uniform choice bernoulli make_random_key make_random_keys autojit AutoJIT
    AdvancedAutoJIT vmap_automatically scan_while from_torch KDTree persistent
    persistent_call from_haiku shard_map fork_rng get_rng_state set_rng_state next_key
    rand_like randn_like randint_like multinomial poisson dropout Generator
    set_plain_jit_policy PlainJitWarning RandomError zero_cotangent ZERO apply_updates
    DerivativeError TangentError SlowCallWarning UncompiledWarning relu sigmoid gelu
    log_softmax one_hot logsumexp cross_entropy mse_loss chunk tensor cdist scatter
    index_select devices remat make_mesh
""".split()


def test_every_name_of_jax_numpy_is_there():
    assert set(dir(jax.numpy)) <= set(dir(jfi))


def test_helpers_of_modules_are_no_public_names():
    assert not {"TYPE_CHECKING", "Any", "annotations"} & set(jfi.__all__)


def test_names_of_jax_numpy_are_the_same_objects():
    names = {n for n in dir(jax.numpy) if not n.startswith("_")}
    other = {n for n in names if getattr(jfi, n) is not getattr(jax.numpy, n)}
    assert other == REPLACED | set(MADE)
    for name in set(MADE) - WITH_DEFAULTS:
        assert getattr(jfi, name).__wrapped__ is getattr(jax.numpy, name)


def test_deprecated_names_of_jax_numpy_come_with_its_warning(monkeypatch):
    monkeypatch.setattr(
        jax.numpy, "__getattr__", lambda name: ("old", name), raising=False
    )
    assert jfi.a_deprecated_name == ("old", "a_deprecated_name")


@pytest.mark.parametrize("name", ADDED)
def test_names_beside_jax_numpy(name):
    assert name in dir(jfi)
    assert getattr(jfi, name) is not None


@pytest.mark.parametrize(
    "name",
    "custom_jvp custom_vjp pure_callback make_jaxpr Array "
    "block_until_ready device_put ShapeDtypeStruct lax tree debug sharding "
    "numpy devices make_mesh".split(),
)
def test_names_of_jax_are_the_same_objects(name):
    assert getattr(jfi, name) is getattr(jax, name)


def test_the_other_names_of_jax_have_its_signature_first():
    """They are wrappers, for random draws."""
    assert jfi.stop_gradient is jax.lax.stop_gradient
    for name in "jit vmap jacfwd jacrev hessian jvp shard_map".split():
        ours, theirs = (
            list(inspect.signature(getattr(module, name)).parameters)
            for module in (jfi, jax)
        )
        assert ours[: len(theirs)] == theirs
    for name in "cond switch scan while_loop fori_loop associative_scan map".split():
        ours, theirs = (
            list(inspect.signature(getattr(module, name)).parameters)
            for module in (jfi, jax.lax)
        )
        theirs = [name for name in theirs if not name.startswith("_")]
        assert ours[: len(theirs)] == theirs
    assert {"prevent_cse", "policy", "static_argnums", "static_argnames"} < set(
        inspect.signature(jfi.checkpoint).parameters
    )


def test_jaxm_is_the_module_itself():
    from jfi import jaxm

    assert jaxm is jfi
    assert jfi.jax is jax
    assert jfi.key is jax.random.key


def test_modules_can_be_imported():
    code = """
from jfi.linalg import norm
import jfi.nn, jfi.fft, jfi.random
from jfi.scipy.linalg import cho_factor
import jax, jax.scipy.linalg
assert norm.__wrapped__ is jax.numpy.linalg.norm
assert jfi.nn.relu.__wrapped__ is jax.nn.relu and jfi.nn.initializers.zeros
assert cho_factor.__wrapped__ is jax.scipy.linalg.cho_factor
"""
    run_python(code)


def test_names_in_errors_and_docs_are_those_of_users():
    for name, value in OWN.items():
        if inspect.isclass(value) and issubclass(value, (Exception, Warning)):
            assert value.__module__ == "jfi", name


@pytest.mark.parametrize("name", sorted(OWN))
def test_is_documented_with_an_example(name):
    value = OWN[name]
    doc = inspect.getdoc(value)
    assert doc
    assert doc.splitlines()[0].endswith((".", ":"))
    if inspect.isfunction(value):
        assert any(section in doc for section in ("Returns:", "Yields:", "Args:"))
    if inspect.isfunction(value) or name in ("AutoJIT", "KDTree"):
        assert doctest.DocTestParser().get_examples(doc)


def test_names_on_first_use():
    code = """
import sys, jfi
homes = ["jfi._persistent", "jfi.bridges", "jfi.scipy"]
print([home for home in homes if home in sys.modules])
assert "KDTree" in dir(jfi) and "KDTree" not in vars(jfi)
assert jfi.KDTree is jfi.KDTree is vars(jfi)["KDTree"]
names = {}
exec("from jfi import *", names)
print(set(dir(jfi)) - set(names) - {n for n in dir(jfi) if n.startswith("_")})
"""
    assert output_of(code, fresh=True) == "[]\nset()"


def test_unknown_names():
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        _ = jfi.nope


@pytest.mark.parametrize("name", ["randn", "sin", "autojit", "KDTree", "norm", "jit"])
def test_jedi_completes(name):
    source = f"import jfi as jnp\njnp.{name[:3]}"
    found = jedi.Script(source).complete(2, len(f"jnp.{name[:3]}"))
    assert name in {completion.name for completion in found}


def test_jedi_goes_to_the_definition():
    source = "import jfi as jnp\njnp.KDTree"
    (found,) = jedi.Script(source).goto(2, 6, follow_imports=True)
    assert found.module_path.parts[-3:] == ("spatial", "_kdtree", "_tree.py")


def test_jedi_shows_documentation():
    source = "import jfi as jnp\njnp.randn"
    (found,) = jedi.Script(source).infer(2, 6)
    assert "standard normal" in found.docstring()


@pytest.mark.parametrize("name", ["randn", "random.gumbel", "random.weibull"])
def test_jedi_shows_the_signature_of_random_functions(name):
    source = f"import jfi as jnp\njnp.{name}("
    (found,) = jedi.Script(source).get_signatures()
    assert [p.name for p in found.params][-3:] == ["key", "dtype", "device"]


@pytest.mark.parametrize(
    "decorator",
    [
        "autojit", "autojit()", "autojit(static='mode')", "persistent",
        "persistent(mode='disk')", "jit", "jit(static_argnames='mode')", "grad",
        "auto_vmap(shared='x')",
    ],
)  # fmt: skip
@pytest.mark.parametrize("call", ["step(", "Model().step("])
def test_jedi_decorated_functions_keep_their_signature(decorator, call):
    function = f"@jnp.{decorator}\ndef step(self, x, mode='train'):\n    return x\n"
    method = "".join(f"    {line}\n" for line in function.splitlines())
    source = f"import jfi as jnp\n{function}class Model:\n{method}{call}"
    found = jedi.Script(source).get_signatures()  # several by overloads, all alike
    names = {tuple(p.name for p in signature.params) for signature in found}
    assert {last[-2:] for last in names} == {("x", "mode")}  # `self` of some methods


# ------------------------------------------------------------- what importing does


SNAPSHOT = """
import json, sys
import jax, jax.numpy, numpy
def state():
    return {
        name: {k: id(v) for k, v in vars(module).items()}
        for name, module in list(sys.modules.items())
        if module is not None and not name.startswith(("jfi", "__main__"))
    }
before = state()
import jfi
after = state()
changed = {}
for name in before:
    for attribute in before[name].keys() | after[name].keys():
        old, new = before[name].get(attribute), after[name].get(attribute)
        submodule = f"{name}.{attribute}" in after.keys() - before.keys()
        if old != new and not submodule:
            changed.setdefault(name, []).append(attribute)
print(json.dumps(changed))
"""


def test_importing_changes_no_other_module():
    assert json.loads(output_of(SNAPSHOT, fresh=True)) == {}


def test_a_changed_module_is_seen():
    code = SNAPSHOT.replace("import jfi", "import jfi; jax.numpy.sin = None", 1)
    assert json.loads(output_of(code)) == {"jax.numpy": ["sin"]}


def test_importing_starts_no_backend_and_creates_no_array():
    code = """
import jfi
from jfi._jax_internals import backend_started
assert not backend_started()
import jax
assert jax.live_arrays() == []
"""
    run_python(code, fresh=True)


UNWANTED = ["torch", "haiku", "scipy.spatial", "scipy", "jfi_server", "dask"]
# With Pallas, which it imports, it takes half as long as all of jfi.
UNWANTED += ["jax.extend"]
UNWANTED += ["jfi.scipy", "jfi.bridges"]  # the wings


def test_optional_packages_are_not_imported():
    tools = "jfi.autojit, jfi.vmap, jfi.grad, jfi.scan, jfi.random, jfi.persistent"
    found = f"print([m for m in {UNWANTED} if m in sys.modules])"
    assert output_of(f"import jfi, sys; {tools}; {found}", fresh=True) == "[]"


def test_core_tools_import_no_wing_when_they_run():
    code = """
import sys, jfi as jnp
x = jnp.randn(3)
f = lambda x: jnp.sin(x).sum()
for tool in (jnp.jit, jnp.grad, jnp.autojit, jnp.auto_vmap, jnp.persistent):
    tool(f)(x)
jnp.scan(lambda c, x: (c + x, c), 0.0, x), jnp.linalg.norm(x), jnp.softmax(x, 0)
jnp.inspect(f)(x)
print([m for m in sys.modules if m.startswith(("jfi.scipy", "jfi.bridges"))])
"""
    assert output_of(code, fresh=True) == "[]"


def test_an_imported_package_is_seen():
    code = f"import dask, sys; print([m for m in {UNWANTED} if m in sys.modules])"
    assert output_of(code, fresh=True) == "['dask']"


def test_a_missing_package_is_told_with_its_extra():
    code = """
import sys
sys.modules["torch"] = None
import jfi
try:
    jfi.from_torch(abs)
except jfi.MissingDependencyError as error:
    print(error)
"""
    assert output_of(code) == (
        "from_torch needs the package 'torch', which is not installed. "
        "Install it with: pip install 'jfi[torch]'"
    )


COLLECTIONS = """
import gc, sys, jax.numpy
ROOMS
rooms, found = set(sys.modules), []
gc.callbacks.append(lambda phase, info: found.append(info))
if ENABLED:
    gc.enable()
else:
    gc.disable()
gc.set_threshold(1)
IMPORT
gc.set_threshold(700)
loaded = set(sys.modules) - rooms
print(len(loaded) > 20, gc.isenabled(), len(found))
"""


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize(
    ("rooms", "needed", "most"),
    [("", "import jfi", 5000), ("import jfi", "jfi.persistent", 20)],
)
def test_an_import_collects_no_garbage(enabled, rooms, needed, most):
    """A collection would look through all that JAX has made: 25 to 50 ms.

    Python collects while it finds jfi itself, and 60,000 times in all that jfi imports.
    """
    script = COLLECTIONS.replace("ROOMS", rooms).replace("IMPORT", needed)
    found = output_of(script.replace("ENABLED", str(enabled))).split()
    assert found[:2] == ["True", str(enabled)]
    assert int(found[2]) < most
