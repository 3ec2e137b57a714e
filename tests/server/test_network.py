"""A server on the network: what goes there and back, and who is kept out."""

import contextlib
import hashlib
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import rpyc
from jfi_server._network import EXCHANGE, RpycLink
from jfi_server._remote_client import RemoteClient
from jfi_server.addresses import parsed
from jfi_server.errors import NotKept, ServerError, ServerLost
from rpyc.core import brine, consts

from .certificates import authority, signed
from .conftest import ONES, free_port, later, wait_until


KEY, OTHER = "a" * 64, "b" * 64


@pytest.fixture
def listen(servers):
    """Start a server that listens; with a function that makes clients of it."""
    clients = []

    def start(scheme="rpyc", **options):
        port = free_port()
        process = servers.start(port=port, **options)

        def client(certificates=None, host="127.0.0.1"):
            address = parsed(f"{scheme}://{host}:{port}")
            clients.append(RemoteClient(address, certificates))
            return clients[-1]

        client.process, client.port = process, port
        return client

    yield start
    for client in clients:
        client.close()


@pytest.fixture
def client(listen):
    make = listen()
    client = make()
    client.port, client.process, client.another = make.port, make.process, make
    return client


def double(client):
    """Whether the server still serves."""
    program = client.keep(KEY, b"a record", b"double")
    return client.run(program, [ONES])[0][0] == 2


def connected(client):
    return socket.create_connection(("127.0.0.1", client.port), 10)


def hangs_up(sock, seconds=10):
    """Whether the server closes a connection, whatever it says before."""
    sock.settimeout(seconds)
    with contextlib.suppress(ConnectionError):
        while sock.recv(1 << 16):
            pass
    return True


SIZES = [0, 1, 3, 16 << 10, 300_000, 5_000_000]


@pytest.mark.parametrize("dtype", ["float32", ">f8", "bool", "complex64"])
def test_arrays_of_all_sizes_and_layouts_go_there_and_back(client, dtype):
    program = client.keep(KEY, b"", b"echo")
    arrays = [np.arange(n).astype(dtype) for n in SIZES]
    arrays += [arrays[3].reshape(64, -1).T, arrays[4][::-7], np.array(3).astype(dtype)]
    for found, array in zip(client.run(program, arrays), arrays, strict=True):
        np.testing.assert_array_equal(found, array)
        assert found.flags.writeable


def test_a_result_stays_when_the_next_one_comes(client):
    program = client.keep(KEY, b"", b"double")
    first = client.run(program, [np.arange(100_000.0)])[0]
    client.run(program, [np.zeros(100_000)])
    np.testing.assert_array_equal(first, 2 * np.arange(100_000.0))


def test_a_program_is_sent_once_and_another_client_finds_it(servers, client):
    assert client.find(KEY) is None
    program = client.keep(KEY, b"a record", b"double")
    assert client.find(KEY) == (program, b"a record")
    other = client.another()
    assert other.find(KEY) == (program, b"a record")
    assert other.run(program, [ONES])[0][0] == 2
    # What is sent later is in its place, and is another program.
    echo = other.keep(KEY, b"another record", b"echo")
    assert client.find(KEY) == (echo, b"another record")
    assert client.run(program, [ONES])[0][0] == 2
    assert client.run(echo, [ONES])[0][0] == 1


def test_many_threads_at_once(client):
    program = client.keep(KEY, b"", b"double")
    calls = [later(client.run, program, [ONES + i]) for i in range(12)]
    for i, (thread, found) in enumerate(calls):
        thread.join()
        np.testing.assert_array_equal(found[0][0], 2 * (ONES + i))


def test_what_the_server_can_not_do_is_said(client):
    with pytest.raises(ServerLost, match="refuses: there is no nonsense"):
        client.keep(KEY, b"", b"nonsense")
    with pytest.raises(NotKept):
        client.run(OTHER, [ONES])
    program = client.keep(KEY, b"", b"exhausted")
    with pytest.raises(ServerLost, match="RESOURCE_EXHAUSTED"):
        client.run(program, [ONES])


def test_code_of_another_digest_is_refused(client):
    message = {"op": "keep", "key": KEY, "digest": OTHER, "record": 0}
    reply, _ = client._ask(message, b"double")
    assert reply == {"is": "refused", "reason": "its code has another digest"}
    assert client.find(KEY) is None


@pytest.mark.parametrize("key", ["../echo", "a/b", "", "A" * 64, "0" * 63, 7, None])
def test_a_key_is_no_path(client, key):
    with pytest.raises(ServerLost, match="ended during the call"):
        client.find(key)
    assert double(client)


@pytest.mark.parametrize("op", ["status", "list", "clear", "load", "stop", None, []])
def test_what_the_owner_asks_a_client_may_not(client, op):
    with pytest.raises(ServerLost, match="ended during the call"):
        client._ask({"op": op, "key": KEY})
    assert double(client)


def test_a_client_chooses_no_store(servers, client):
    """`echo` is a program of the server's user."""
    client._ask({"op": "hello", "store": str(servers.store)})
    with pytest.raises(ServerLost, match="ended during the call"):
        client.run("echo", [ONES])


# --- Ends that break off


def test_a_server_that_is_killed_is_told(client):
    program = client.keep(KEY, b"", b"double")
    client.process.kill()
    client.process.wait()
    with pytest.raises(ServerLost):
        client.run(program, [ONES])


def test_a_server_that_stands_still_is_given_up_after_seconds(impatient, client):
    program = client.keep(KEY, b"", b"double")
    client.process.send_signal(signal.SIGSTOP)
    start = time.monotonic()
    with pytest.raises(ServerLost, match=r"at rpyc://127.0.0.1:\d+ does not answer"):
        client.run(program, [ONES])
    with pytest.raises(ServerLost, match="does not answer"):
        client.run(program, [np.zeros(10_000_000)])
    assert time.monotonic() - start < 5
    client.process.send_signal(signal.SIGCONT)


def test_a_call_longer_than_any_patience_is_waited_for(impatient, client):
    program = client.keep(KEY, b"", b"slowly")
    assert client.run(program, [ONES])[0][0] == 1


def test_a_program_that_nobody_waits_for_ends_with_the_process(servers, listen):
    make = listen(patience=0.3)
    client = make()
    program = client.keep(KEY, b"", b"forever")
    with pytest.raises(ServerLost, match="longer than the timeout"):
        client.run(program, [ONES], timeout=0.3)
    wait_until(lambda: "restarts" in servers.log())
    client = make()
    wait_until(lambda: later(double, client)[1] or works_soon(client))


def works_soon(client):
    try:
        return double(client)
    except ServerLost:
        client._avoided = None
        return False


# --- Who is kept out


@contextlib.contextmanager
def stock_client(port, **config):
    conn = rpyc.connect("127.0.0.1", port, config=config)
    yield conn
    conn._closed = True  # else it asks the server
    conn._channel.close()


def test_a_stock_client_of_rpyc_gets_no_object(client):
    with (
        stock_client(client.port) as conn,
        pytest.raises(PermissionError, match="answers requests of jfi alone"),
    ):
        conn.root  # noqa: B018
    assert double(client)


@pytest.mark.parametrize(
    "handler", [number for name, number in vars(consts).items() if "HANDLE" in name]
)
def test_no_request_of_rpyc_is_answered(client, handler):
    with (
        stock_client(client.port, allow_pickle=True, allow_all_attrs=True) as conn,
        pytest.raises((PermissionError, EOFError)),
    ):
        conn.sync_request(handler, ("x", 1, 2), 4)
    assert double(client)


def frame(data, kind=0, length=None):
    size = len(data) if length is None else length
    return struct.pack("!LB", size, kind) + data + b"\n"


def request(args, number=EXCHANGE):
    return b"\x01" + brine.dump((0, (number, args)))


BROKEN = {
    "compressed": frame(b"x" * 100, kind=1),
    "a frame of 4 GB": frame(b"", length=2**32 - 1),
    "a body of an exabyte": struct.pack("!LBQ", 1, 2, 2**60) + b"x\n",
    "nested a million times": frame(request((1, (b"{}",)))[:-4] + b"\x10" * 1_000_000),
    "a reference": frame(request((4, ("builtins.object", 1, 2)))),
    "a callback": frame(request((2, ((4, ("builtins.object", 1, 2)),)))),
    "a reply that nobody asked for": frame(b"\x02" + brine.dump((0, (4, ("x", 1, 2))))),
    "an exception": frame(b"\x03" + brine.dump((0, (("os", "a"), ("b",), (), "")))),
    "no JSON": frame(request((1, (b"{",)))),
    "a list": frame(request((1, (b"[]",)))),
    "deep JSON": frame(request((1, (b"[" * 100_000,)))),
    "a number of a million digits": frame(request((1, (b"9" * 1_000_000,)))),
    "two arguments": frame(request((1, (b"{}", b"{}")))),
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "nothing of rpyc": bytes(range(256)) * 10,
    "arrays without bytes": frame(
        request((1, (b'{"op":"run","key":"a","arrays":[["float64",[99],false,0]]}',)))
    ),
    "a record longer than what came": frame(
        request((1, (b'{"op":"keep","key":"%b","digest":"%b","record":9}'
                     % (KEY.encode(), KEY.encode()),)))
    ),
}  # fmt: skip


@pytest.fixture
def memory(client):
    """The memory of the server is at the end what it was at the beginning."""

    def used():
        with open(f"/proc/{client.process.pid}/status") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["VmHWM"].split()[0]) / 1000  # MB, at most until now

    assert double(client)
    before = used()
    yield
    assert used() - before < 64


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_message_ends_its_connection_alone(memory, client, case):
    with connected(client) as sock:
        sock.sendall(BROKEN[case])
        assert hangs_up(sock)
    assert double(client)


def test_a_client_that_stops_in_a_frame_is_dropped(client):
    with connected(client) as sock:
        sock.sendall(frame(request((1, (b"{}",))))[:10])
        start = time.monotonic()
        assert hangs_up(sock)
        assert 3 < time.monotonic() - start < 8


def test_a_message_larger_than_the_server_takes(listen):
    client = listen(message=1_000_000)()
    program = client.keep(KEY, b"", b"double")
    with pytest.raises(ServerLost):
        client.run(program, [np.zeros(1_000_000)])
    assert double(client)


def test_connections_are_counted(servers, listen):
    make = listen(connections=8)
    client = make()
    assert double(client)
    socks = [connected(make) for _ in range(100)]
    wait_until(lambda: "too many connections" in servers.log())
    assert double(client)  # who is there stays
    with pytest.raises(ServerLost):
        double(make())
    for sock in socks:
        sock.close()
    wait_until(lambda: works_soon(make()))


@pytest.mark.skipif(os.getuid() != 0, reason="can't be another user")
def test_another_user_of_the_machine_is_refused(servers, client):
    script = f"exec 3<>/dev/tcp/127.0.0.1/{client.port}; ! read -n 1 -t 20 -u 3"
    subprocess.run(["bash", "-c", script], check=True, user=12345, timeout=60, cwd="/")
    wait_until(lambda: "a process of another user is refused" in servers.log())
    assert double(client)


@pytest.mark.skipif(os.getuid() != 0, reason="can't be another user")
def test_another_user_who_hangs_up_at_once_is_refused(servers, client):
    """The system says then that the connection is root's, as this server is."""
    header = b'{"op":"keep","key":"%b","digest":"%b","record":0}'
    known = hashlib.sha256(b"").hexdigest().encode()
    data = frame(request((1, (header % (OTHER.encode(), known),))))
    octal = "".join(f"\\{byte:03o}" for byte in data)
    once = f"exec 3<>/dev/tcp/127.0.0.1/{client.port}; printf '{octal}' >&3"
    for _ in range(20):
        done = subprocess.run(["bash", "-c", once], user=12345, timeout=60, cwd="/")
        assert done.returncode == 0
    wait_until(lambda: servers.log().count("of another user is refused") >= 20)
    assert "is refused: there is no" not in servers.log()
    assert double(client)


# --- TLS


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """A laboratory, and somebody else."""
    folder, ours, theirs = tmp_path_factory.mktemp("keys"), authority(), authority()
    for ca, name, days in [
        (ours, "server", 2), (ours, "ann", 2), (ours, "bob", 2), (ours, "expired", -1),
        (theirs, "stranger", 2),
    ]:  # fmt: skip
        signed(ca, folder / name, name, days)
    return folder


@pytest.fixture
def laboratory(listen, keys):
    """Makes clients of a server with TLS."""
    server = keys / "server"
    tls, key = server / "cert.pem", server / "key.pem"
    return listen("tls", tls=tls, key=key, clients=keys / "server" / "ca.pem")


def test_clients_with_certificates_are_served_and_kept_apart(laboratory, keys):
    ann, bob = laboratory(keys / "ann"), laboratory(keys / "bob", host="localhost")
    program = ann.keep(KEY, b"ann's", b"double")
    assert bob.find(KEY) is None
    bob.keep(KEY, b"bob's", b"echo")
    assert laboratory(keys / "ann").find(KEY) == (program, b"ann's")
    large = np.arange(1_000_000.0)
    np.testing.assert_array_equal(ann.run(program, [large])[0].shape, large.shape)


@pytest.mark.parametrize("name", ["expired", "stranger"])
def test_a_certificate_that_is_not_good_is_refused(servers, laboratory, keys, name):
    folder = keys / name
    (folder / "ca.pem").write_bytes((keys / "server" / "ca.pem").read_bytes())
    with pytest.raises(ServerLost):
        laboratory(folder).find(KEY)
    wait_until(lambda: "without a good certificate" in servers.log())
    assert double(laboratory(keys / "ann"))


def answer(link):
    link.send({"op": "hello"})
    return link.receive()


def test_no_certificate_no_answer(servers, laboratory, keys):
    context = ssl.create_default_context(cafile=keys / "server" / "ca.pem")
    with (
        connected(laboratory) as sock,
        context.wrap_socket(sock, server_hostname="localhost") as secured,
        pytest.raises(EOFError),
    ):
        answer(RpycLink.over(secured))
    wait_until(lambda: "without a good certificate" in servers.log())


def test_plain_tcp_and_silence_at_the_port_of_tls(laboratory, keys):
    for data in (frame(request((1, (b'{"op":"hello"}',)))), b""):
        with connected(laboratory) as sock:
            sock.sendall(data)
            assert hangs_up(sock)
    with stock_client(laboratory.port) as conn, pytest.raises(EOFError):
        conn.root  # noqa: B018
    assert double(laboratory(keys / "ann"))


def test_a_server_of_somebody_else_gets_nothing(listen, keys):
    stranger = keys / "stranger"
    files = {"tls": stranger / "cert.pem", "key": stranger / "key.pem"}
    make = listen("tls", **files, clients=keys / "server" / "ca.pem")
    with pytest.raises(ServerLost, match=r"no TLS with tls://.*certificate verify"):
        make(keys / "ann").find(KEY)


@pytest.mark.skipif(
    not shutil.which("openssl"), reason="the page's lines are openssl's"
)
def test_certificates_made_as_the_page_says_are_good(listen, tmp_path):
    page = Path(__file__).parents[2].joinpath("docs", "remote.md").read_text()
    lines = re.findall(r"^\$ ((?:export|printf|openssl) .*)", page, re.MULTILINE)
    assert len(lines) == 5

    def run(*lines):
        script = "set -e\n" + "\n".join(lines).replace("gpu-box", "localhost")
        subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True, timeout=60)

    run(*lines)
    server, client = tmp_path / "server", tmp_path / "client"
    for folder in (server, client):  # the second one as for `ann`
        folder.mkdir()
        for name in ("cert.pem", "key.pem", "ca.pem"):
            shutil.copy(tmp_path / name, folder)
        run(lines[0], *lines[2:])
    files = {"tls": server / "cert.pem", "key": server / "key.pem"}
    make = listen("tls", **files, clients=server / "ca.pem")
    assert double(make(client, host="localhost"))


def test_a_client_without_its_files_is_told_which(tmp_path):
    client = RemoteClient(parsed("tls://127.0.0.1:9"), tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        client = RemoteClient(parsed(f"tls://127.0.0.1:{port}"), tmp_path)
        with pytest.raises(ServerLost, match=r"cert\.pem is not there.*JFI_SERVER_TLS"):
            client.find(KEY)


# --- Words


@pytest.mark.parametrize("host", ["0.0.0.0", "gpu-box", "192.168.1.7"])
def test_the_command_opens_nothing_to_everybody(servers, host):
    for command in ("run", "start"):
        done = servers.command(command, "--listen", f"{host}:7000")
        assert done.returncode == 2
        assert "would be open to everybody" in done.stderr
        assert "--tls CERT --key KEY --clients CA" in done.stderr


def test_the_command_with_half_of_tls(servers, tmp_path):
    done = servers.command("run", "--listen", "127.0.0.1:7000", "--tls", "cert")
    assert done.returncode == 2
    assert "TLS needs --listen, --tls CERT, --key KEY and --clients CA" in done.stderr
    files = "--tls", "a.pem", "--key", "b.pem", "--clients", "c.pem"
    done = servers.command("run", "--listen", "127.0.0.1:7000", *files)
    assert done.returncode == 2
    assert "a.pem is not there" in done.stderr


def test_a_port_that_is_taken(servers):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = servers.command("run", "--listen", f"127.0.0.1:{port}")
    assert done.returncode == 2
    assert f"can't listen on 127.0.0.1:{port}" in done.stderr


@pytest.mark.parametrize(
    "text",
    ["gpu-box", "http://a:1", "tls://a", "tls://a:x", "tls://u@a:1", "tls://a:1/b"],
)
def test_what_is_no_address(text):
    with pytest.raises(ServerError, match=r"is no address of a server\. Write ssh://"):
        parsed(text)


def test_plain_rpyc_goes_to_this_machine_alone():
    with pytest.raises(ServerError, match=r"Write tls://gpu-box:7000"):
        parsed("rpyc://gpu-box:7000")
