"""PyTorch modules as JAX trees: calls, training, buffers, values in and out."""

import copy
import pickle
import threading
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jfi
from jfi import CallbackError, from_torch


torch = pytest.importorskip("torch")
torch.set_num_threads(1)
nn = torch.nn

JIT_ERRORS = (jax.errors.JaxRuntimeError, ValueError)
TRACES = []
RUNS = {"eager": lambda f: f, "jit": jfi.jit}


def values(seed=0, shape=(5, 3)):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def tensor(x):
    return torch.from_numpy(np.array(x))


def perceptron():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def close(actual, expected, **options):
    expected = expected.detach().numpy() if torch.is_tensor(expected) else expected
    np.testing.assert_allclose(
        actual, expected, **{"rtol": 1e-5, "atol": 1e-6} | options
    )


@pytest.mark.parametrize("run", RUNS)
def test_a_module_is_a_tree_of_arrays(run):
    net = perceptron()
    ours = from_torch(net)
    assert list(ours.params) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    assert len(jax.tree.leaves(ours)) == 4
    call = RUNS[run](lambda net, x: net(x))
    close(call(ours, values()), net(tensor(values())))
    zero = jax.tree.map(jnp.zeros_like, ours)
    assert not call(zero, values()).any()
    (path, _), *_ = jax.tree_util.tree_leaves_with_path(ours)
    assert jax.tree_util.keystr(path) == ".params['0.bias']"


def test_the_module_itself_is_not_touched():
    net = perceptron()
    before = copy.deepcopy(net.state_dict())
    ours = from_torch(net)
    jax.block_until_ready(
        jax.jit(jax.grad(lambda net, x: net(x).sum()))(ours, values())
    )
    assert all(torch.equal(before[k], v) for k, v in net.state_dict().items())
    assert all(p.grad is None for p in net.parameters())
    with torch.no_grad():
        net[0].weight.zero_()  # and what happens to it later is not seen
    assert ours.params["0.weight"].any()


@pytest.mark.parametrize("make", ["module", "params"])
def test_gradients_are_those_of_pytorch(make):
    net = perceptron()
    loss = torch.nn.functional.mse_loss(net(tensor(values())), torch.ones(5, 1))
    loss.backward()
    ours, target = from_torch(net), jnp.ones((5, 1))

    def of_module(net, x):
        return ((net(x) - target) ** 2).mean()

    def of_params(params, x):
        return of_module(ours.replace(params=params), x)

    if make == "module":
        gradient = jax.jit(jax.grad(of_module))(ours, values()).params
    else:
        gradient = jax.jit(jax.grad(of_params))(ours.params, values())
    for name, parameter in net.named_parameters():
        close(gradient[name], parameter.grad)


def test_training_in_autojit_traces_once():
    optax = pytest.importorskip("optax")

    class Trainer:
        def __init__(self):
            self.net = from_torch(perceptron())
            self.optimizer = optax.sgd(0.1)
            self.state = self.optimizer.init(self.net.params)

        @jfi.autojit
        def step(self, x, y):
            loss = lambda net: ((net(x) - y) ** 2).mean()
            value, gradient = jax.value_and_grad(loss)(self.net)
            updates, self.state = self.optimizer.update(gradient.params, self.state)
            params = optax.apply_updates(self.net.params, updates)
            self.net = self.net.replace(params=params)
            return value

    x, y = values(), values(1, (5, 1))
    trainer = Trainer()
    ours = [float(trainer.step(x, y)) for _ in range(5)]
    assert Trainer.step.cache_info().traces == 1
    net = perceptron()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for value in ours:
        loss = torch.nn.functional.mse_loss(net(tensor(x)), tensor(y))
        close(value, loss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for name, tensor_ in net.state_dict().items():
        close(trainer.net.params[name], tensor_)


@pytest.mark.parametrize("run", RUNS)
def test_buffers_come_back(run):
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    ours = from_torch(net)
    step = RUNS[run](lambda net, x: net.call_and_update(x))
    for seed in range(3):
        result, ours = step(ours, values(seed))
        close(result, net(tensor(values(seed))))
    for name, buffer in net.named_buffers():
        close(ours.buffers[name], buffer)
    close(ours.eval()(values()), net.eval()(tensor(values())))
    assert ours.training
    assert not ours.eval().training


@pytest.mark.parametrize("run", RUNS)
def test_a_call_that_would_change_buffers_is_refused(run):
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls = self.calls + 1  # another tensor, in its place
            return x * self.calls

    for net in (nn.BatchNorm1d(3), Counting()):
        with pytest.raises(CallbackError, match=r"module = module.call_and_update\("):
            RUNS[run](lambda net, x: net(x))(from_torch(net), values())
    result, ours = RUNS[run](lambda net, x: net.call_and_update(x))(
        from_torch(Counting()), values()
    )
    close(result, values())
    assert ours.buffers["calls"] == 1


def test_parts_keep_their_own_mode():
    net = nn.Sequential(nn.BatchNorm1d(3).eval(), nn.Linear(3, 1))
    net.training = True
    close(from_torch(net)(values()), net(tensor(values())))
    with pytest.raises(CallbackError, match="num_batches_tracked"):
        from_torch(net).train()(values())


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("cell", [nn.LSTM, nn.GRU])
def test_recurrent_networks(cell, run):
    net = cell(3, 4, batch_first=True)
    ours, x = from_torch(net), values(0, (2, 5, 3))
    close(RUNS[run](lambda net, x: net(x)[0])(ours, x), net(tensor(x))[0])
    gradient = RUNS[run](jax.grad(lambda net: net(x)[0].sum()))(ours)
    net(tensor(x))[0].sum().backward()
    for name, parameter in net.named_parameters():
        close(gradient.params[name], parameter.grad, rtol=1e-4, atol=1e-5)


def test_attention():
    net = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    x = values(0, (2, 3, 4))
    for ours, theirs in ((from_torch(net), net), (from_torch(net.eval()), net.eval())):
        close(jfi.jit(lambda net, x: net(x))(ours, x), theirs(tensor(x)), atol=1e-5)


def test_tied_weights_stay_tied():
    net = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5, bias=False))
    net[1].weight = net[0].weight
    ours = from_torch(net)
    assert list(ours.params) == ["0.weight"]
    indices = jnp.array([1, 4])
    close(ours(indices), net(tensor(indices).long()))
    gradient = jax.grad(lambda net: net(indices).sum())(ours)
    net(tensor(indices).long()).sum().backward()
    close(gradient.params["0.weight"], net[0].weight.grad)
    again = ours.to_torch()
    assert again[0].weight is again[1].weight
    assert list(ours.state_dict()) == ["0.weight", "1.weight"]


def test_frozen_parameters_have_zero_gradients():
    net = perceptron()
    net[0].requires_grad_(False)
    gradient = jax.jit(jax.grad(lambda net, x: net(x).sum()))(from_torch(net), values())
    assert not gradient.params["0.weight"].any()
    assert gradient.params["2.weight"].any()
    again = from_torch(net).to_torch()
    assert [p.requires_grad for p in again.parameters()] == [False, False, True, True]


def test_values_go_out_and_in():
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).double()
    net(torch.ones(4, 3).double())
    ours = from_torch(net)
    state = ours.state_dict()
    for name, value in net.state_dict().items():
        assert state[name].dtype == value.dtype
        close(state[name], value)
    net.load_state_dict(state)
    other = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    loaded = from_torch(other).load_state_dict(state)
    close(loaded.params["0.weight"], net[0].weight)
    arrays = {name: jnp.zeros(value.shape) for name, value in state.items()}
    assert not any(map(jnp.any, jax.tree.leaves(ours.load_state_dict(arrays))))
    with pytest.raises(RuntimeError, match="Missing key"):
        ours.load_state_dict({})
    again = ours.eval().to_torch()
    assert not again.training
    assert again[0].weight.dtype == torch.float64
    close(ours.eval()(values()), again.float()(tensor(values())))


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_share_what_is_compiled(copied):
    ours = from_torch(perceptron())
    traces = []
    call = jax.jit(lambda net, x: (traces.append(1), net(x))[1])
    close(call(copied(ours), values()), call(ours, values()))
    assert len(traces) == 1
    assert repr(ours).startswith("from_torch(Sequential(\n  (0): Linear(")


def test_a_module_from_another_process():
    ours = from_torch(nn.Linear(2, 1))
    data = pickle.dumps(ours)
    expected = ours(jnp.ones((1, 2)))
    del ours
    close(pickle.loads(data)(jnp.ones((1, 2))), expected)


def test_what_a_module_keeps():
    class Remembers(nn.Module):
        hidden = None

        def forward(self, x):
            self.hidden = x if self.hidden is None else self.hidden + x
            return self.hidden

    class Cached(nn.Module):
        table = None

        def forward(self, x):
            if self.table is None:
                self.table = torch.arange(3.0)
            return x + self.table

    for module in (Remembers(), Cached()):
        with pytest.raises(CallbackError, match="keeps a tensor of one call and uses"):
            jax.jit(lambda net, x: net(x))(from_torch(module), values())
    cached = Cached()
    cached(torch.ones(3))
    close(jax.jit(from_torch(cached))(jnp.ones(3)), [1, 2, 3])


def test_modules_without_shapes_are_refused():
    with pytest.raises(CallbackError, match="Call it once with PyTorch"):
        from_torch(nn.LazyLinear(3))


def test_modules_with_constants():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scales = torch.tensor([1.0, 2.0, 3.0])

        def forward(self, x):
            return x * self.scales

    net = from_torch(Scaled())
    for run in (net, jax.jit(net)):
        close(run(jnp.ones(3)), [1, 2, 3])


def test_attributes_that_share_memory_with_parameters_are_refused():
    net = nn.Linear(2, 2)
    net.first_row = net.weight[:1]
    with pytest.raises(CallbackError, match=r"self.first_row, .* memory of weight"):
        from_torch(net)
    normed = nn.utils.spectral_norm(nn.Linear(3, 1)).eval()  # its hook makes it anew
    close(from_torch(normed)(values()), normed(tensor(values())))


def test_modules_of_torch_jit_are_refused_and_work_as_constants():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        net = torch.jit.script(nn.Linear(3, 1))
    with pytest.raises(CallbackError, match=r"from_torch\(lambda x: module\(x\)\)"):
        from_torch(net)
    close(from_torch(lambda x: net(x))(values()), net(tensor(values())))


def test_batches_of_modules():
    nets = [perceptron() for _ in range(3)]
    for k, net in enumerate(nets):
        with torch.no_grad():
            net[0].weight.mul_(k)
    first, *others = (from_torch(net) for net in nets)
    alike = (first.replace(params=other.params) for other in others)
    ours = jax.tree.map(lambda *parts: jnp.stack(parts), first, *alike)
    found = jax.jit(jax.vmap(lambda net, x: net(x), (0, None)))(ours, values())
    for result, net in zip(found, nets, strict=True):
        close(result, net(tensor(values())))


def test_threads_do_not_meet():
    ours = from_torch(perceptron())
    scaled = [jax.tree.map(lambda p, k=k: p * k, ours) for k in range(1, 5)]
    expected = [net(values()) for net in scaled]
    right = []

    def work(k):
        found = [scaled[k](values()) for _ in range(30)]
        right.append(all(np.array_equal(result, expected[k]) for result in found))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 4


def test_mixed_precision_parameters(x64):
    net = nn.Linear(2, 1).double()
    ours = from_torch(net)
    wide = jnp.float64 if x64 else jnp.float32
    assert ours.params["weight"].dtype == wide
    assert ours(jnp.ones((1, 2), wide)).dtype == wide
    assert (
        from_torch(net.bfloat16())(jnp.ones((1, 2), jnp.bfloat16)).dtype == jnp.bfloat16
    )


def test_buffers_have_zero_gradients():
    net = nn.BatchNorm1d(3)
    net.num_batches_tracked = None
    ours = from_torch(net.eval())
    gradient = jfi.grad(lambda net: net(values()).sum())(ours)
    assert not gradient.buffers["running_mean"].any()
    assert (gradient.params["bias"] == 5).all()


def test_hooks_on_gradients_of_parameters_are_refused():
    net = perceptron()
    after = net[0].weight.register_post_accumulate_grad_hook(lambda weight: None)
    with pytest.raises(CallbackError, match="register_hook or the like"):
        from_torch(net)
    after.remove()
    hook = net[0].weight.register_hook(lambda g: g.clamp(-0.1, 0.1))
    with pytest.raises(CallbackError, match=r"hook on the gradient of 0.weight"):
        from_torch(net)
    hook.remove()
    close(from_torch(net)(values()), net(tensor(values())))


def test_attributes_of_the_pytorch_module_are_neither_set_nor_read_here():
    ours = from_torch(perceptron())
    with pytest.raises(AttributeError, match=r"module = net.to_torch\(\), module.a"):
        ours.a = 3.0
    with pytest.raises(AttributeError, match=r"Write module = module.eval\(\)"):
        ours.training = False
    with pytest.raises(AttributeError, match=r"'weight'. Write net.params\['weight'\]"):
        from_torch(nn.Linear(1, 1)).weight  # noqa: B018
    with pytest.raises(AttributeError, match=r"JAX calls forward\(\) alone: let it"):
        ours.append  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute 'b'.$"):
        ours.b  # noqa: B018
    ours.params = {name: 0 * value for name, value in ours.params.items()}
    assert not ours(values()).any()


def test_gradients_that_are_sparse_in_pytorch():
    net, rows = nn.Embedding(5, 2, sparse=True), jnp.array([0, 3, 3])
    net(tensor(rows).long()).square().sum().backward()
    gradient = jfi.jit(jfi.grad(lambda net: (net(rows) ** 2).sum()))(from_torch(net))
    close(gradient.params["weight"], net.weight.grad.to_dense())
