"""Where a server on the network is: `rpyc://host:port`, `tls://host:port`.

>>> parsed("tls://gpu-box:7000").host
'gpu-box'
>>> parsed("gpu-box")
Traceback (most recent call last):
    ...
jfi_server.errors.ServerError: 'gpu-box' is no address of a server. Write ...
"""

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from .errors import ServerError


_SCHEMES = ("rpyc", "tls")


@dataclass(frozen=True)
class Address:
    """Where a server is, and how to get there.

    Attributes:
        scheme: "rpyc" for another process of this user, "tls" for other machines.
        host, port: Of a socket of TCP.
    """

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        """As the user writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def parsed(text: str) -> Address:
    """The address that a text names.

    Raises:
        ServerError: It names none, or the way there could be read by others.
    """
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
        parts = urlsplit("")
    beside = parts.path or parts.query or parts.fragment or "@" in parts.netloc
    if parts.scheme not in _SCHEMES or not host or not port or beside:
        raise ServerError(
            f"{text!r} is no address of a server. Write tls://host:port; or "
            "rpyc://127.0.0.1:port for a port of this machine."
        )
    if parts.scheme == "rpyc" and not is_loopback(host):
        raise ServerError(
            f"{text} would send data that others can read and change: without TLS "
            f"a server is reached on this machine alone. Write tls://{host}:{port}."
        )
    return Address(parts.scheme, host, port)


def host_and_port(text: str) -> tuple[str, int]:
    """What `--listen` names.

    >>> host_and_port("127.0.0.1:7000")
    ('127.0.0.1', 7000)

    Raises:
        ServerError: It is no host and port.
    """
    try:
        parts = urlsplit(f"//{text}")
        if parts.hostname and parts.port is not None and parts.netloc == text:
            return parts.hostname, parts.port
    except ValueError:
        pass
    raise ServerError(f"--listen {text}: write HOST:PORT, such as 127.0.0.1:7000")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its name alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Certificates:
    """The files of one end of TLS, in PEM.

    Attributes:
        cert, key: Its own certificate, and the key of that.
        ca: Who has signed the certificates of the other end.
    """

    cert: Path
    key: Path
    ca: Path

    @classmethod
    def in_folder(cls, folder: Path) -> "Certificates":
        """Those of a client: `cert.pem`, `key.pem`, `ca.pem`.

        Raises:
            ServerError: One of them is not there.
        """
        files = [folder / f"{name}.pem" for name in ("cert", "key", "ca")]
        for file in files:
            if not file.is_file():
                raise ServerError(
                    f"{file} is not there. A client of tls:// has its certificate "
                    f"(cert.pem), the key of it (key.pem) and the certificate of who "
                    f"signed the server's (ca.pem) in {folder}; JFI_SERVER_TLS names "
                    "another folder"
                )
        return cls(*files)
