"""Pieces of Python in forks end, print and see what they do in new interpreters."""

import os
import subprocess

import pytest
from subprocesses import environment, fork_server, output_of, run_python


OUTCOMES = {
    "printed": "import sys; print('out'); print('err', file=sys.stderr)",
    "an error": "x = 1\nraise ValueError('wrong')",
    "a warning": "import warnings; warnings.warn('wrong')",
    "an exit code": "import sys; sys.exit(3)",
    "an exit text": "raise SystemExit('bye')",
    "a signal": "import os; os.kill(os.getpid(), 15)",
    "no end": "import os; print('lost'); os._exit(4)",
    "at exit": "import atexit; atexit.register(print, 'last'); print('first')",
    "names": "print([n for n in globals() if n[:2] != '__'], __name__)",
    "its module": "import __main__\ndef f(): pass\nprint(__main__.f is f)",
    "arguments": "import sys; print(sys.argv, sys.stdin.read(), sys.path[0] == '')",
    "a thread": "import threading; threading.Thread(target=print, args='a').start()",
    "Ctrl-C": "import signal; print(signal.getsignal(signal.SIGINT))",
    "a child": "import subprocess; print(subprocess.run(['false']).returncode)",
}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_fork_ends_as_a_new_interpreter(outcome):
    fork, fresh = (
        run_python(OUTCOMES[outcome], fresh=fresh, check=False)
        for fresh in (False, True)
    )
    assert fork.returncode == fresh.returncode
    assert fork.stdout == fresh.stdout
    # The traceback of a fork has one line of the process that forks.
    assert fork.stderr.splitlines()[-1:] == fresh.stderr.splitlines()[-1:]


def test_a_fork_has_imported_jax_and_not_jfi():
    code = "import sys; print([n in sys.modules for n in ('jax', 'jfi')])"
    assert output_of(code) == "[True, False]"
    assert output_of(code, fresh=True) == "[False, False]"


def test_variables_that_jax_reads_at_start_need_a_new_interpreter():
    code = "import os, jax; print(jax.config.jax_enable_x64, os.environ['JFI_X'])"
    env = {"JFI_X": "x"}
    assert output_of(code, env=env) == "False x"
    assert output_of(code, env={**env, "JAX_ENABLE_X64": "1"}) == "True x"


def test_forks_share_no_random_numbers():
    code = "import random, numpy as np; print(random.random(), np.random.rand())"
    first, second = output_of(code).split(), output_of(code).split()
    assert not set(first) & set(second)


def test_a_folder_of_its_own(tmp_path):
    code = "import os; print(os.getcwd())"
    done = fork_server().run(code, env=environment(), cwd=tmp_path)
    assert done.stdout == f"{tmp_path}\n"


def test_a_fork_that_takes_too_long_is_killed(tmp_path):
    code = """
import os, time
with open("pid", "w") as file: file.write(str(os.getpid()))
print("begun", flush=True)
time.sleep(1000)
"""
    # Until the child has begun, however slow the machine is.
    for timeout in (1, 10, 100):
        with pytest.raises(subprocess.TimeoutExpired) as caught:
            fork_server().run(code, env=environment(), cwd=tmp_path, timeout=timeout)
        if caught.value.output:
            break
    assert caught.value.output == "begun\n"
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert output_of("print('next')") == "next"
