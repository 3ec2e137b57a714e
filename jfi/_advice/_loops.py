"""Loops that JAX refuses to differentiate, or whose length it must know."""

from ._wording import with_line


def of_gradient(_: BaseException) -> str:
    """For a gradient back through a loop of an unknown number of steps."""
    return with_line(
        "A gradient goes back over the steps of a loop, and this loop (a while_loop, "
        "or a fori_loop with traced bounds) does not say how many it takes at most.",
        "{jnp}.while_loop(cond, body, init, max_steps=100); or {jnp}.fori_loop with "
        "Python ints as bounds; or {jnp}.jvp, {jnp}.jacfwd",
    )


# JAX's words; an error with them is no question for a value in the user's code.
OF_LENGTH = "^.*\n?The `length` argument to `scan`"


def of_length(_: BaseException) -> str:
    """For a `scan` of a traced length."""
    return with_line(
        "scan() stacks a row for each step, so length= must be a Python int; it is "
        "traced: it has no value while JAX traces the function.",
        "{jnp}.fori_loop(0, length, body, init), which stacks nothing; or "
        "{jnp}.scan_while(cond, body, init, max_steps)",
    )
