"""Access to the page: token, Host and Origin, and the address to which the server is bound.

The token is a secret of 128 bits. Other users of the machine can connect to the port, so the token is needed on the
loopback too. The checks of Host and Origin keep away pages of other sites in the user's own browser.

Port and token are kept for each name of a simulation, in the folder of the simulations' sockets, which only the user
can read. So an open tab comes back when the server is started again.
"""

from __future__ import annotations

import contextlib
import getpass
import hmac
import ipaddress
import json
import os
import re
import secrets
import socket
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from twixt.ipc.errors import TwixtError, text_of
from twixt.ipc.system import names

LOOPBACK = "127.0.0.1"
TOKEN_BYTES = 16
TOKEN = re.compile(r"[A-Za-z0-9_-]{22}")
# Files that exist only inside a container.
CONTAINER_FILES = ("/.dockerenv", "/run/.containerenv")
CONTAINER_WORDS = ("docker", "kubepods", "containerd", "libpod", "lxc")
# Variables that are set in containers.
CONTAINER_VARIABLES = ("container", "KUBERNETES_SERVICE_HOST")
# Ports that the names of simulations choose from. They lie below those that Linux gives to outgoing connections.
FIRST_PORT, PORTS = 20_000, 10_000
# Number of ports that are tried, before the system chooses one.
TRIED_PORTS = 20
MOST_FILE_BYTES = 1000
HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+)(?::(\d{1,5}))?")
ORIGIN = re.compile(rf"[A-Za-z][A-Za-z0-9+.-]*://{HOST.pattern}")


class AccessError(TwixtError):
    """The server may not be bound to an address, or cannot be."""


class Kept(NamedTuple):
    """What is kept for a name. port: 0 if there is none yet."""

    port: int
    token: str


@dataclass(frozen=True)
class Access:
    """Rules for requests. hosts, origins: those that the user has allowed, in lower case. scheme: "http" or
    "https"."""

    token: str
    scheme: str = "http"
    hosts: Collection[str] = ()
    origins: Collection[str] = ()

    def is_token(self, token: str) -> bool:
        """True for the right token. The time of the comparison tells nothing about the token."""
        return hmac.compare_digest(token.encode("utf-8", "surrogatepass"), self.token.encode())

    def is_host(self, given: str | None) -> bool:
        """True if a request with this Host may be answered: a loopback name with any port, because forwards change
        the port, or a host that the user has allowed."""
        found = HOST.fullmatch(given or "")
        if found is None:
            return False
        name = found[1].lower()
        return is_loopback(name.strip("[]")) or name in self.hosts or (given or "").lower() in self.hosts

    def is_origin(self, origin: str | None, host: str) -> bool:
        """True if a page of this origin may open a WebSocket. Programs send no origin; they need the token, like
        everybody. host: the request's Host."""
        if origin is None:
            return True
        return origin.lower() == f"{self.scheme}://{host}".lower() or origin.lower() in self.origins


def is_loopback(host: str) -> bool:
    """True for a name or an address of this machine that other machines cannot reach."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_binding(host: str, port: int, has_certificate: bool, is_plain: bool) -> None:
    """Raises AccessError if the server may not be bound to `host`: other machines could read the token."""
    if is_loopback(host) or has_certificate or (is_plain and is_in_container()):
        return
    if is_plain:
        raise AccessError(
            f"--plain is only for containers, and this is not one; leave out --host {host}, and type on the other "
            f"machine: {ssh_line(port)}"
        )
    raise AccessError(
        f"--host {host} lets other machines connect, which needs --cert FILE and --key FILE; without them, leave out "
        f"--host, and type on the other machine: {ssh_line(port)}"
    )


def check_allowed(hosts: Collection[str], origins: Collection[str]) -> None:
    """Raises AccessError for a host or an origin that no request can have."""
    for host in hosts:
        if HOST.fullmatch(host) is None:
            raise AccessError(f"--allow-host must be a host name, such as lab.example, got {text_of(host)}")
    for origin in origins:
        if ORIGIN.fullmatch(origin) is None:
            raise AccessError(
                f"--allow-origin must be a scheme and a host, such as https://lab.example, got {text_of(origin)}"
            )


def is_in_container() -> bool:
    """True if this process runs in a container."""
    if any(map(os.path.exists, CONTAINER_FILES)) or any(map(os.environ.get, CONTAINER_VARIABLES)):
        return True
    with contextlib.suppress(OSError), open("/proc/1/cgroup") as file:
        text = file.read(MOST_FILE_BYTES)
        return any(word in text for word in CONTAINER_WORDS)
    return False


def ssh_line(port: int, host: str = LOOPBACK) -> str:
    """Command to type on another machine, so that the link works there. host: loopback address of the server."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        user = "USER"
    address = f"[{host}]" if ":" in host else host
    return f"ssh -L {port}:{address}:{port} {user}@{socket.gethostname()}"


def docker_line(port: int) -> str:
    """Command that publishes the port of a container on its host's loopback only."""
    return f"docker run -p {LOOPBACK}:{port}:{port} ..."


def link(scheme: str, host: str, port: int, token: str) -> str:
    """Address of the page. Servers and proxies never see what follows the #."""
    host = reachable(host)
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/#{token}"


def reachable(host: str) -> str:
    """Host with which a browser on this machine reaches a server that is bound to `host`."""
    return LOOPBACK if host == "0.0.0.0" else "::1" if host == "::" else host


def first_port(name: str) -> int:
    """Port that a name tries first."""
    return FIRST_PORT + zlib.crc32(name.encode()) % PORTS


def kept(name: str) -> Kept:
    """Port and token of a name. If there are none, or the file is damaged, the result has a new token and no port.
    Raises NoFolder."""
    damages = (OSError, ValueError, KeyError, TypeError, RecursionError)
    path = _path(name) if os.path.isfile(_path(name)) else os.devnull  # a FIFO would wait for its writer
    with contextlib.suppress(*damages), open(path) as file:
        fields = json.loads(file.read(MOST_FILE_BYTES))
        port, token = fields["port"], fields["token"]
        if type(port) is int and 0 < port < 65536 and TOKEN.fullmatch(token):
            return Kept(port, token)
    return Kept(0, secrets.token_urlsafe(TOKEN_BYTES))


def keep(name: str, port: int, token: str) -> None:
    """Keeps port and token of a name, in one step. Raises OSError."""
    path = _path(name)
    temporary = f"{path}.{secrets.token_hex(8)}"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump({"port": port, "token": token}, file)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.remove(temporary)
        raise


def bound(host: str, port: int | None, before: int, name: str) -> socket.socket:
    """A listening socket. port: the port that the user asks for; None for the port of the last time (`before`, 0 if
    there was none), or a free one. Raises AccessError."""
    try:
        family, *_, found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise AccessError(
            f"--host must be an address or a name of this machine, got {text_of(host)} ({error})"
        ) from None
    address = str(found[0])
    if port is not None:
        return _listening(family, address, port)
    first = before or first_port(name)
    tried = [first, *range(first_port(name), first_port(name) + TRIED_PORTS), 0]
    for number in tried[:-1]:
        with contextlib.suppress(AccessError):
            return _listening(family, address, number)
    return _listening(family, address, tried[-1])


def _listening(family: int, host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=family, backlog=100)
    except (OSError, OverflowError) as error:
        way_out = "choose another --port or --host"
        if isinstance(error, PermissionError):
            way_out = (
                "only the system's administrator may take such a low port; choose one above 1023, such as --port 8080"
            )
        reason = getattr(error, "strerror", None) or error
        raise AccessError(f"cannot listen on port {port} of {host}: {reason}; {way_out}") from None


def _path(name: str) -> str:
    return os.path.join(names.runtime_folder(), f"{name}.web")
