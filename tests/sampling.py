"""Of a test with many cases a sample runs, as in JAX's own tests.

The sample is the same in each run. JFI_EVERY_CASE=1 runs every case, as .ci/run does.
"""

import os
import re
import zlib
from collections import defaultdict


ALL = 12  # cases of a test, up to which all run
# What a case runs under: one of these takes the place of another one.
WAYS = re.compile(r"\b(x64|x32|layouts|opened)\b")


def sampled(items):
    """A third of the cases of each test, but `ALL` of them at least.

    Each of a test's arguments comes in one of the two worlds of dtypes, and in one way
    of calling, before any comes in another one.
    """
    if os.environ.get("JFI_EVERY_CASE"):
        return items
    tests = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            tests[item.parent.nodeid, item.originalname].append(item)
    left_out = set()
    for cases in tests.values():
        left_out |= set(_in_order(cases)[max(ALL, len(cases) // 3) :])
    return [item for item in items if item not in left_out]


def _in_order(cases):
    """Cases without a pattern: first each argument once, then again."""
    ways = defaultdict(list)
    for case in cases:
        ways[WAYS.sub("", case.name)].append(case)
    arguments = sorted(ways, key=lambda name: zlib.crc32(name.encode()))
    turned = [
        ways[name][i % len(ways[name]) :] + ways[name][: i % len(ways[name])]
        for i, name in enumerate(arguments)
    ]
    return [
        found[k]
        for k in range(max(map(len, turned)))
        for found in turned
        if k < len(found)
    ]
