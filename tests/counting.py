"""How often functions run to be compiled: they report it, as `logging` does.

A count in a variable would be one of the calls: what a function writes is written at
each call.
"""

import logging


class Traces(logging.Handler):
    """Counts how often functions ran to be compiled."""

    n = 0

    @classmethod
    def added(cls, call):
        """How often `count` was called in a call."""
        before = cls.n
        call()
        return cls.n - before

    def emit(self, record):
        Traces.n += 1


LOG = logging.Logger("traces")
LOG.addHandler(Traces())


def count():
    """To be called in a function whose runs count."""
    LOG.info("traced")
