"""What a function computes: a swinging chain, by a Python loop and by a scan.

    python examples/look_inside.py

Both functions compute the same. `jnp.inspect` shows what they are to JAX, without
running them: hundreds of operations that take seconds to compile, or a handful and a
loop. It prints both reports, and draws them side by side.
"""

import matplotlib as mpl
from rich.console import Console

import jfi as jnp


PICTURE = "look_inside.png"
STEPS, LINKS = 12, 20
State = tuple[jnp.Array, jnp.Array]  # angles and speeds


def force(angles: jnp.Array) -> jnp.Array:
    """Gravity on each of the links, and springs between them, `(n,)`."""
    bend = jnp.diff(angles, prepend=0.0, append=angles[-1:])
    return 40.0 * jnp.diff(bend) - jnp.sin(angles)


def swing_unrolled(angles: jnp.Array, speeds: jnp.Array, dt: float) -> jnp.Array:
    """The angles after all steps: each turn of the loop is traced."""
    for _ in range(STEPS):
        speeds = speeds + dt * force(angles)
        angles = angles + dt * speeds
    return angles


def swing(angles: jnp.Array, speeds: jnp.Array, dt: float) -> jnp.Array:
    """The same: one turn is traced, as the body of a loop."""

    def step(state: State, _: None) -> tuple[State, None]:
        angles, speeds = state
        speeds = speeds + dt * force(angles)
        return (angles + dt * speeds, speeds), None

    result: jnp.Array = jnp.scan(step, (angles, speeds), length=STEPS)[0][0]
    return result


def main() -> None:
    """Look at both."""
    console = Console()
    start = jnp.linspace(0.0, 1.0, LINKS), jnp.zeros(LINKS), 0.01

    reports = [jnp.inspect(f, compile=True)(*start) for f in (swing_unrolled, swing)]
    for report in reports:
        console.print(report)
        console.print()

    unrolled, scanned = reports
    seconds = unrolled.compile().seconds, scanned.compile().seconds
    console.print(
        f"{unrolled.executed.total()} operations run in the one, and "
        f"{scanned.executed.total()} in the other. Compiling takes "
        f"{seconds[0]:.2f} s and {seconds[1]:.2f} s."
    )
    same = jnp.allclose(swing_unrolled(*start), swing(*start), atol=1e-4)
    console.print(f"Both end at the same angles: {same}.")

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure = plt.figure(figsize=(9, 5.5))
    for k, report in enumerate(reports):
        report.plot(ax=figure.add_axes((k / 2, 0, 0.5, 1)), fold="line")
    figure.savefig(PICTURE, dpi=90)
    console.print(f"The pictures are in {PICTURE}.")


if __name__ == "__main__":
    main()
