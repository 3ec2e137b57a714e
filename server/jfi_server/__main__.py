"""The command `jfi-server start|stop|restart|status|list|clear|logs|run`."""

import argparse
import contextlib
import json
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import control, limits
from .addresses import Certificates, host_and_port
from .environment import digest, environment
from .errors import FolderError, ServerError
from .folders import base_folder, open_server_folder, server_folder
from .tables import ago, show, size, span


if TYPE_CHECKING:
    from ._remote import Listening

_HELP = """\
start    start the server of this environment in the background
stop     end it (--all: those of other environments, too)
restart  end it and start it; what was loaded is loaded again
status   the servers that run (exit code 1: none of this environment)
list     the programs that it has loaded
clear    let go of all programs; the store on disk keeps them
logs     what it said
bridge   what ssh starts for clients on other machines
run      serve in this terminal, until Ctrl-C
"""

_OPTIONS: dict[str, dict[str, Any]] = {
    "--dir": {
        "help": "folder of all servers (default: $JFI_SERVER_DIR, else "
        "$XDG_RUNTIME_DIR/jfi, else ~/.cache/jfi/servers)"
    },
    "--idle-timeout": {
        "metavar": "TIME",
        "type": lambda text: _read(limits.number_of_seconds)(text),
        "help": "end after so long without a call: 90, 90s, 30m, 2d (default: 4h)",
    },
    "--memory": {
        "metavar": "SIZE",
        "type": lambda text: _read(limits.number_of_bytes)(text),
        "help": "the most that loaded programs take: 500MB (default: 4GB)",
    },
    "--store": {
        "metavar": "DIR",
        "type": Path,
        "help": "run programs of this store alone (default: of those scripts name)",
    },
    "--listen": {
        "metavar": "HOST:PORT",
        "help": "also serve clients on the network: 127.0.0.1:7000 for this machine",
    },
    "--limit": {
        "metavar": "NAME=VALUE",
        "action": "append",
        "default": [],
        "help": "for each client on the network, such as stored=16GB; may be repeated",
    },
    "--allow-code": {
        "action": "store_true",
        "help": "let clients on the network run Python code, as this user",
    },
    "--tls": {"metavar": "CERT", "type": Path, "help": "the server's certificate"},
    "--key": {"metavar": "KEY", "type": Path, "help": "the key of that"},
    "--clients": {
        "metavar": "CA",
        "type": Path,
        "help": "who signs the certificates of clients: one without is refused",
    },
    "--log-level": {
        "choices": ("debug", "info", "warning", "error"),
        "default": "info",
    },
    "--json": {"action": "store_true", "help": "print JSON instead of text"},
    "--all": {
        "action": "store_true",
        "help": "stop: the servers of all environments",
    },
}


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return what the shell gets.

    Args:
        arguments: The words after `jfi-server`; None takes those of this process.

    Returns:
        0 for success, 1 where no server runs, 2 for an error, which is printed.
    """
    parser = _parser()
    chosen = parser.parse_args(arguments)
    try:
        base = base_folder(chosen.dir)
        if chosen.command is None:
            print(parser.format_help())  # noqa: T201
            _status(base, chosen)
            return 0
        code = _commands()[chosen.command](base, chosen)
    except ServerError as error:
        print(f"jfi-server: {error}", file=sys.stderr)  # noqa: T201
        return 2
    except BrokenPipeError:  # jfi-server logs | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    return code


def _commands() -> dict[str, Callable[[Path, argparse.Namespace], int]]:
    return {
        "start": _start, "stop": _stop, "restart": _restart, "status": _status,
        "list": _list, "clear": _clear, "logs": _logs, "run": _run, "bridge": _bridge,
    }  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jfi-server",
        description="Keeps the programs of @jfi.persistent loaded between scripts.",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = list(_commands())
    parser.add_argument("command", choices=names, nargs="?", metavar="|".join(names))
    for option, settings in _OPTIONS.items():
        parser.add_argument(option, **settings)
    return parser


def _run(base: Path, chosen: argparse.Namespace) -> int:
    import faulthandler

    from .server import Options, run

    logging.basicConfig(
        level=chosen.log_level.upper(), format="%(asctime)s %(levelname)s %(message)s"
    )
    faulthandler.enable()  # native code that crashes leaves its place in the log
    given: dict[str, Any] = {
        "store": chosen.store and chosen.store.expanduser().absolute(),
        "memory": chosen.memory,
        "idle_timeout": chosen.idle_timeout,
        "listening": _listening(chosen),
        "limits": limits.parsed(chosen.limit),
        "allow_code": chosen.allow_code,
    }
    run(Options(base, **{k: v for k, v in given.items() if v is not None}))


def _listening(chosen: argparse.Namespace) -> "Listening | None":
    files = chosen.tls, chosen.key, chosen.clients
    if any(files) and not (all(files) and chosen.listen):
        raise ServerError("TLS needs --listen, --tls CERT, --key KEY and --clients CA")
    if chosen.listen is None:
        return None
    from ._remote import Listening

    absolute = [file.expanduser().absolute() for file in files if file]
    certificates = Certificates(*absolute) if absolute else None
    listening = Listening(*host_and_port(chosen.listen), certificates)
    listening.check()
    return listening


def _start(base: Path, chosen: argparse.Namespace) -> int:
    options = [f"--log-level={chosen.log_level}"]
    if chosen.idle_timeout is not None:
        options.append(f"--idle-timeout={chosen.idle_timeout}")
    if chosen.memory is not None:
        options.append(f"--memory={chosen.memory}")
    if chosen.store is not None:
        options.append(f"--store={chosen.store.expanduser().absolute()}")
    limits.parsed(chosen.limit)  # errors here, and not in a log
    options += [f"--limit={text}" for text in chosen.limit]
    options += ["--allow-code"] * chosen.allow_code
    if _listening(chosen) is not None:
        names = "listen", "tls", "key", "clients"
        given = ((name, getattr(chosen, name)) for name in names)
        options += [f"--{n}={_absolute(value)}" for n, value in given if value]
    pid, new = control.start(base, options)
    path = server_folder(base, digest()) / "socket"
    text = f"{'started' if new else 'already running'}: process {pid}, {path}"
    _say(chosen, {"pid": pid, "new": new, "socket": os.fspath(path)}, text)
    return 0


def _absolute(value: str | Path) -> str:
    return value if isinstance(value, str) else os.fspath(value.expanduser().absolute())


def _stop(base: Path, chosen: argparse.Namespace) -> int:
    own = server_folder(base, digest())
    folders = list(control.servers(base)) if chosen.all else [own]
    stopped = [pid for folder in folders if (pid := control.stop(folder)) is not None]
    lines = [f"stopped: process {pid}" for pid in stopped]
    others = control.servers(base)
    lines = lines or [f"not running in {own}"]
    if others:
        lines.append(
            f"servers of other environments run: {len(others)}. To end them, too: "
            "jfi-server stop --all"
        )
    _say(chosen, {"stopped": stopped, "others": len(others)}, "\n".join(lines))
    return 0


def _restart(base: Path, chosen: argparse.Namespace) -> int:
    control.stop(server_folder(base, digest()))
    return _start(base, chosen)


def _status(base: Path, chosen: argparse.Namespace) -> int:
    own = server_folder(base, digest())
    running = control.servers(base)
    found = {folder: control.ask(folder, "status") for folder in running}
    answers = [
        {**(found[f] or {}), "pid": running[f], "folder": os.fspath(f), "own": f == own}
        for f in sorted(running, key=lambda f: f != own)
    ]
    if chosen.json:
        _say(chosen, answers, "")
    elif not answers:
        _say(chosen, None, f"not running in {own}")
    else:
        columns = ["server", ">pid", ">up", ">programs", ">bytes", ">calls", ">hits",
                   ">running", "differs in"]  # fmt: skip
        show(columns, [_status_row(answer) for answer in answers])
        for answer in answers:
            _show_clients(answer)
        if own not in running:
            _say(chosen, None, f"none of them is this environment's: {own}")
    return 0 if own in running else 1


def _show_clients(answer: dict[str, Any]) -> None:
    """What a server has of others: its devices, and clients on the network."""
    devices, clients = answer.get("devices", []), answer.get("clients", [])
    if not clients:
        return
    columns = ["device", "kind", ">memory in use", ">of"]
    show(columns, [
        [d["device"], d["kind"], *(size(d[n]) if d[n] else "" for n in ("used", "of"))]
        for d in devices
    ])  # fmt: skip
    columns = ["client", ">processes", ">connections", ">calls", ">programs",
               ">arrays", ">bytes", ">last seen"]  # fmt: skip
    numbers = "processes", "connections", "calls", "programs", "arrays"
    show(columns, [
        [c["client"], *(str(c[n]) for n in numbers), size(c["stored"]), ago(c["used"])]
        for c in clients
    ])  # fmt: skip


def _status_row(answer: dict[str, Any]) -> list[str]:
    first = [Path(answer["folder"]).name, str(answer["pid"])]
    try:
        ours, theirs = environment(), answer["environment"]
        different = [n for n in {**ours, **theirs} if ours.get(n) != theirs.get(n)]
        return [
            *first,
            span(answer["uptime"]),
            str(answer["programs"]),
            size(answer["bytes"]),
            str(answer["calls"]),
            str(answer["hits"]),
            str(answer["running"]),
            ", ".join(f"{n}: {theirs.get(n, 'none')}" for n in different),
        ]
    except (KeyError, TypeError, ValueError, AttributeError):
        return [*first, *["?"] * 6, "it does not answer"]


def _list(base: Path, chosen: argparse.Namespace) -> int:
    answer = _ask_own(base, "list")
    rows: list[dict[str, Any]] = answer["programs"]
    if chosen.json:
        _say(chosen, rows, "")
        return 0
    columns = ["function", "source", ">compiled in", ">calls", ">hits", ">bytes",
               ">last used"]  # fmt: skip
    cells = [
        [
            row["name"],
            row["source"],
            f"{row['seconds']:.1f} s",
            str(row["calls"]),
            str(row["hits"]),
            size(row["bytes"]),
            ago(row["used"]),
        ]
        for row in rows
    ]
    show(columns, cells)
    return 0


def _clear(base: Path, chosen: argparse.Namespace) -> int:
    count = _ask_own(base, "clear")["count"]
    _say(chosen, {"cleared": count}, f"let go of {count} programs")
    return 0


def _logs(base: Path, chosen: argparse.Namespace) -> int:
    path = server_folder(base, digest())
    try:
        with contextlib.closing(open_server_folder(path, make=False)) as folder:
            text = folder.read("log").decode(errors="replace").rstrip()
    except (OSError, FolderError) as error:
        raise ServerError(f"there is no log in {path} ({error})") from error
    _say(chosen, text.splitlines(), text)
    return 0


def _bridge(base: Path, chosen: argparse.Namespace) -> int:
    from ._ssh import bridge

    return bridge(base)


def _ask_own(base: Path, op: str) -> dict[str, Any]:
    folder = server_folder(base, digest())
    answer = control.ask(folder, op)
    if answer is None:
        raise ServerError(f"no server runs in {folder}. Start one: jfi-server start")
    return answer


def _say(chosen: argparse.Namespace, data: object, text: str) -> None:
    print(json.dumps(data) if chosen.json else text, flush=True)  # noqa: T201


def _read(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """A reader whose errors argparse shows as they are."""

    def read_argument(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read_argument


if __name__ == "__main__":
    sys.exit(main())
