"""What pytest leaves out where an optional package is not installed."""

from importlib.util import find_spec


collect_ignore_glob = [] if find_spec("torch") else ["jfi/_foreign/torch/*"]
