"""How the tools of jfi are called: around a whole function, or a loop in the middle.

`F` stands for the function that does the reading: it takes an array of two floats and
returns one. `READ` stands for a number that it reads, `x` for an array of two, and `XS`
for an array with three rows of two.
"""

DIRECT = "F(x)"

LOOPS = {
    "scan": "tools.scan(lambda c, u: (0.5 * c + F(u), c), x, XS)",
    "scan of a function": "tools.scan(lambda c, u: (F(c), u), x, None, length=2)",
    "scan in reverse": "tools.scan(lambda c, u: (c + u, F(u)), x, XS, reverse=True)",
    "while_loop": (
        "tools.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, F(c[1])), (0, x))"
    ),
    "while_loop that reads in its condition": (
        "tools.while_loop(lambda c: (c[0] < 6) & (c[0] < READ), "
        "lambda c: (c[0] + 1, F(c[1])), (0.0, x))"
    ),
    "while_loop with max_steps": (
        "tools.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, F(c[1])), (0, x), "
        "max_steps=5)"
    ),
    "fori_loop": "tools.fori_loop(0, 3, lambda i, c: F(c) + i, x)",
    "cond": "tools.cond(x.sum() > 0, F, lambda x: -x, x)",
    "cond that reads": "tools.cond(x.sum() > READ, F, lambda x: -x, x)",
    "switch": "tools.switch(1, [jnp.sin, F], x)",
    "map": "tools.map(F, XS)",
    "associative_scan": "tools.associative_scan(lambda a, b: (a + b + READ).astype('float32'), XS)",
    "checkpoint": "tools.checkpoint(F)(x)",
    "scan_while": (
        "tools.scan_while(lambda c: c[0] < 1e6, lambda c: (F(c), 2 * c), x, 3)"
    ),
    "scan_while that reads in its condition": (
        "tools.scan_while(lambda c: c[0] < READ, lambda c: (c + 0.75, F(c)), x, 4)"
    ),
    "vmap_automatically": "tools.vmap_automatically(F, XS, batch_size=3)",
    "vmap_automatically of a problem": (
        "tools.vmap_automatically(lambda p: {'y': F(p['x']) * p['k']}, "
        "{'x': XS, 'k': 2.0}, batch_size=3)"
    ),
    "auto_vmap": "tools.auto_vmap(F, batch_size=3)(XS)",
    "grad of a scan": (
        "tools.grad(lambda v: tools.scan(lambda c, u: (F(c) + u, None), v, XS)[0].sum())"
        "(x)"
    ),
    "jax.grad of a fori_loop": (
        "jax.grad(lambda v: tools.fori_loop(0, 2, lambda i, c: F(c), v).sum())(x)"
    ),
    "grad of a scan_while": (
        "tools.grad(lambda v: tools.scan_while(lambda c: c[0] < 1e6, "
        "lambda c: (F(c), c), v, 2).carry.sum())(x)"
    ),
    "scan in a map": (
        "tools.map(lambda v: tools.scan(lambda c, u: (F(c) + u, None), v, XS)[0], XS)"
    ),
    "cond in a scan": (
        "tools.scan(lambda c, u: (tools.cond(c[0] > 0, F, lambda c: -c, c), u), x, XS)"
    ),
}

KERNELS = {"direct": DIRECT, **LOOPS}

# How a function comes under autojit, and what is called then. `{run}` is the function by
# that name, `{plain}` by the other; `{names}` are its parameters.
FUNCTION_FORMS = {
    "decorated": ("@tools.autojit\n{run}", "run"),
    "wrapped": ("{plain}\nrun = tools.autojit(plain)", "run"),
    "wrapped anew": ("{plain}", "tools.autojit(plain)"),
    "a lambda anew": ("{plain}", "tools.autojit(lambda {names}: plain({names}))"),
    "called inside": (
        "{plain}\n@tools.autojit\ndef run({names}):\n    return plain({names})", "run",
    ),
    "autojitted and called inside": (
        "@tools.autojit\n{plain}\n@tools.autojit\ndef run({names}):\n"
        "    return plain({names})", "run",
    ),
    "a partial": ("{plain}\nrun = tools.autojit(functools.partial(plain))", "run"),
    "a static method": (
        "{plain}\nclass Tool:\n    run = staticmethod(tools.autojit(plain))", "Tool.run",
    ),
    "made by a function": (
        "def make():\n    @tools.autojit\n{run_inside}\n    return run\nrun = make()",
        "run",
    ),
}  # fmt: skip
METHOD_FORMS = {
    "decorated": ("@tools.autojit\n{run}", "model.run"),
    "wrapped anew": ("{plain}", "tools.autojit(model.plain)"),
    "called inside": (
        "{plain}\n@tools.autojit\ndef run(self, {names}):\n    return self.plain({names})",
        "model.run",
    ),
    "autojitted and called inside": (
        "@tools.autojit\n{plain}\n@tools.autojit\ndef run(self, {names}):\n"
        "    return self.plain({names})", "model.run",
    ),
    "called through its class": ("@tools.autojit\n{run}", "functools.partial(Model.run, model)"),
}  # fmt: skip
EAGER = "eager"  # the form of a function that is not under autojit
