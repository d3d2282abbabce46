"""Certificate and key of the server, and what browsers will say about them.

Browsers are asked nothing: the server and a client shake hands in memory. The client trusts this certificate, so it
complains only of dates, names and purposes, as a browser does.
"""

from __future__ import annotations

import os
import shlex
import ssl
import stat
from collections.abc import Sequence

from twixt.ipc.errors import text_of
from twixt.ipc.process.notices import print_notice
from twixt.relay.serve.access import AccessError

# Largest size of either file.
MOST_FILE_BYTES = 1 << 20
# Codes of OpenSSL for a certificate that is not for the host: X509_V_ERR_HOSTNAME_MISMATCH, _IP_ADDRESS_MISMATCH.
WRONG_NAME = (62, 64)


class Certificate:
    """A certificate and its key, from PEM files. Raises AccessError if a server cannot use them. context: for the
    server's connections."""

    def __init__(self, certificate: str, key: str) -> None:
        self._path = certificate
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        for flag, path in (("--cert", certificate), ("--key", key)):
            _check_file(flag, path)
        is_encrypted = False

        def password() -> str:
            nonlocal is_encrypted
            is_encrypted = True
            return ""

        try:
            self.context.load_cert_chain(certificate, key, password)
            self._trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            self._trusting.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            self._trusting.load_verify_locations(certificate)
        except (OSError, ValueError) as error:
            if is_encrypted:
                line = f"openssl pkey -in {shlex.quote(key)} -out plain.pem"
                raise AccessError(
                    f"--key must be a key without a password, and {key!r} has one; decrypt it with: {line}"
                ) from None
            if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
                raise AccessError(f"--key must be the key of --cert, and {key!r} is for another one") from None
            raise AccessError(f"--cert and --key must be a certificate and its key, as PEM files: {error}") from None

    def complaint(self, host: str) -> str:
        """What a browser says about the certificate at a link with this host; "" if nothing."""
        try:
            error = self._refusal(host)
        except (ssl.SSLError, ValueError) as other:
            return str(other)
        if error is None:
            return ""
        return f"it is not for {host}" if error.verify_code in WRONG_NAME else error.verify_message

    def first_without_complaint(self, hosts: Sequence[str]) -> str:
        """The first of these hosts about which browsers will not complain. If there is none, the first, and the
        complaint is printed."""
        complaints = list(map(self.complaint, hosts))
        if "" in complaints:
            return hosts[complaints.index("")]
        print_notice(f"browsers will warn about --cert {self._path}: {complaints[-1]}")
        return hosts[0]

    def _refusal(self, host: str) -> ssl.SSLCertVerificationError | None:
        """Why a client that trusts the certificate refuses it; None if it does not."""
        up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
        server = self.context.wrap_bio(up, down, server_side=True)
        client = self._trusting.wrap_bio(down, up, server_hostname=host)
        waiting = [client, server]
        while waiting:
            one = waiting.pop(0)
            try:
                one.do_handshake()
            except ssl.SSLWantReadError:
                waiting.append(one)
            except ssl.SSLCertVerificationError as error:
                return error
        return None


def _check_file(flag: str, path: str) -> None:
    """Raises AccessError unless the path is that of a file that can be read. A pipe would wait for its writer, and a
    device could have no end."""
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise AccessError(f"{flag} must be a file, and {text_of(path)} is a folder, a pipe or a device")
        with open(path, "rb") as file:
            is_empty = not file.read(1)
    except (OSError, ValueError) as error:
        raise AccessError(f"{flag} {text_of(path)} cannot be read: {getattr(error, 'strerror', error)}") from None
    if is_empty or found.st_size > MOST_FILE_BYTES:
        raise AccessError(f"{flag} must be a PEM file of 1 to {MOST_FILE_BYTES} bytes, and {text_of(path)} is not one")
