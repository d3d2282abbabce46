"""A forwarded port of a real SSH server: `ssh -L` from the client's end of a link to its server's end.

ssh opens a session, as the line that twixt prints does. With -N it opens none, and OpenSSH then leaves Nagle's
algorithm on: of 60 small snapshots a second, 20 arrived over 20 ms each way.

The server has its own configuration, host key and port, and lets in one key made for this run. Both connections of a
page share the TCP connection of `ssh`.

Always: nothing remains. Keys and configuration are in a folder that the caller removes, and both processes end with the
context.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from bench.processes import Process, process
from bench.web.link import SERVER, Link
from twixt.ipc.errors import TwixtError

PORT, LOCAL_PORT = 2222, 8123
SERVER_PROGRAM = "/usr/sbin/sshd"
PROGRAMS = {"ssh": "openssh-client", "ssh-keygen": "openssh-client", SERVER_PROGRAM: "openssh-server"}
# The server wants this folder, which a service that starts it at boot would make.
SEPARATION_FOLDER = "/run/sshd"
CONFIGURATION = """
Port {port}
ListenAddress {address}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
AllowUsers {user}
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
AllowTcpForwarding local
"""


def why_no_ssh() -> str:
    """Why no SSH server can be started here; "" if one can."""
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            return f"no {program} here; on Debian install it with: apt-get install {package}"
    return ""


@contextmanager
def forwarded(between: Link, server_port: int, folder: str) -> Iterator[int]:
    """Forwards a port of the client's loopback to `server_port` of the server's loopback, through SSH over a link.
    Yields the client's port. Raises TwixtError."""
    if why := why_no_ssh():
        raise TwixtError(why)
    user = pwd.getpwuid(os.geteuid()).pw_name
    for name in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", os.path.join(folder, name)], check=True)
    configuration = os.path.join(folder, "sshd_config")
    with open(configuration, "w", encoding="utf-8") as file:
        file.write(CONFIGURATION.format(port=PORT, address=SERVER, folder=folder, user=user))
    os.makedirs(SEPARATION_FOLDER, exist_ok=True)
    serve = [*between.server, SERVER_PROGRAM, "-D", "-e", "-f", configuration]
    tunnel = [
        *between.client, "ssh", "-tt", "-F", "none", "-p", str(PORT), "-i", os.path.join(folder, "user_key"),
        "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={os.path.join(folder, 'known')}",
        "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "ExitOnForwardFailure=yes", "-o", "LogLevel=DEBUG1",
        "-L", f"127.0.0.1:{LOCAL_PORT}:127.0.0.1:{server_port}", f"{user}@{SERVER}", "sleep infinity",
    ]  # fmt: skip
    with process(serve, is_apart=True) as sshd:
        sshd.until(lambda: _says(sshd, "Server listening"), "the SSH server listens")
        with process(tunnel, is_apart=True) as ssh:
            ssh.until(lambda: _says(ssh, "Local forwarding listening"), "ssh forwards the port")
            yield LOCAL_PORT


def _says(program: Process, text: str) -> bool:
    return any(text in line for line in program.error_lines())
