"""Where a server on the network is: `ssh://host`, `tls://host:port`.

>>> parsed("tls://gpu-box:7000").host
'gpu-box'
>>> parsed("gpu-box")
Traceback (most recent call last):
    ...
jfi_server.errors.ServerError: 'gpu-box' is no address of a server. Write ...
"""

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from .errors import ServerError


_SCHEMES = ("ssh", "tls", "rpyc")
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"  # never an option of ssh


@dataclass(frozen=True)
class Address:
    """Where a server is, and how to get there.

    Attributes:
        scheme: "ssh" and "tls" for other machines, "rpyc" for this one.
        host: Its name or address; for ssh, as in the user's configuration.
        port: Of a socket of TCP; None: ssh's own.
        user: Whom ssh logs in as; "" for the one of its configuration.
        environment: The folder of the Python environment there; "": what is on PATH.
    """

    scheme: str
    host: str
    port: int | None
    user: str = ""
    environment: str = ""

    def __str__(self) -> str:
        """As the user writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        user = f"{self.user}@" if self.user else ""
        port = "" if self.port is None else f":{self.port}"
        return f"{self.scheme}://{user}{host}{port}{self.environment}"


def parsed(text: str) -> Address:
    """The address that a text names.

    Raises:
        ServerError: It names none, or the way there could be read by others.
    """
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        parts, host, port = urlsplit(""), "", None
    user, path = parts.username or "", parts.path.rstrip("/")
    if parts.scheme == "ssh":
        names = [host, user or "root"]
        right = all(re.fullmatch(_NAME, name) for name in names)
    else:
        right = bool(host and port) and not (user or path)
    secret = parts.password is not None or parts.query or parts.fragment
    if parts.scheme not in _SCHEMES or not right or secret:
        raise ServerError(
            f"{text!r} is no address of a server. Write ssh://host, tls://host:port; "
            "or rpyc://127.0.0.1:port for a port of this machine."
        )
    if parts.scheme == "rpyc" and not is_loopback(host):
        raise ServerError(
            f"{text} would send data that others can read and change: without TLS "
            f"a server is reached on this machine alone. Write tls://{host}:{port}, or "
            f"ssh://{host}."
        )
    return Address(parts.scheme, host, port, user, path)


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
