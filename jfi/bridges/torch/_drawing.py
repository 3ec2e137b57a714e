"""Random numbers of PyTorch, from seeds that JAX gives."""

import contextlib
import threading
from collections.abc import Generator
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    import torch


# PyTorch draws from one generator for all threads.
_seeding = threading.RLock()


@contextlib.contextmanager
def seeded(words: "torch.Tensor") -> Generator[None]:
    """In a block PyTorch draws what two words say; then the user's state is back.

    Args:
        words: A random key of JAX as data, two 32-bit words.
    """
    import torch

    low, high = words.tolist()
    generator = torch.default_generator
    with _seeding:
        state = generator.get_state()
        generator.manual_seed(int(high) << 32 | int(low))
        try:
            yield
        finally:
            generator.set_state(state)


@contextlib.contextmanager
def unchanged() -> Generator[None]:
    """Put the user's state of PyTorch's random numbers back after a block."""
    import torch

    generator = torch.default_generator
    with _seeding:
        state = generator.get_state()
        try:
            yield
        finally:
            generator.set_state(state)
