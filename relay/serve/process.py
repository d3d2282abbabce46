"""Process of `twixt serve`: the server of one simulation's browser view, until Ctrl-C or for some seconds.

Always: the port is free when the process ends. Port and token stay for the next start under the same name.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import twixt
from twixt.ipc.config import rules
from twixt.ipc.errors import FAILED, FINISHED, INTERRUPTED, TwixtError, install_command
from twixt.ipc.process import interrupts
from twixt.ipc.process.notices import print_notice
from twixt.ipc.session import listener
from twixt.ipc.session.attaching import LOOK_S
from twixt.relay.serve import access
from twixt.relay.serve.access import Access
from twixt.relay.serve.certificate import Certificate
from twixt.relay.serve.pages import Pages
from twixt.relay.serve.simulation import Simulation
from twixt.relay.stream.messages import SERVER_ENDED

# Longest wait for the pages' connections to close, in seconds.
CLOSING_S = 3.0
# Exit codes of a server that its simulation has started, by the kind of this simulation's end.
ENDS = {"ended": FINISHED, "interrupted": INTERRUPTED, "crashed": FAILED, "lost": FAILED}


@dataclass(frozen=True)
class ServeOptions:
    """Options of the server. name: of the simulation; None for the only one that runs. port: None for the port of the
    last time. hosts, origins: allowed besides those of the loopback. may_control: None for the default, which is True
    on the loopback. kept_as: name under which port and token are kept; "" for `name`. is_owned: True if the simulation
    started this server, which then ends with it and prints the link on standard error. page: settings with which a page
    begins, by the names of `Config`'s fields."""

    name: str | None = None
    host: str = access.LOOPBACK
    port: int | None = None
    certificate: str | None = None
    key: str | None = None
    is_plain: bool = False
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    may_control: bool | None = None
    seconds: float | None = None
    kept_as: str = ""
    is_owned: bool = False
    page: Mapping[str, Any] = field(default_factory=dict)


def serve(options: ServeOptions) -> int:
    """Serves the browser view to its end, and returns the exit code. Raises TwixtError if the server cannot start."""
    try:
        import websockets.asyncio.server  # noqa: F401
    except ImportError:
        raise TwixtError(
            "the browser view needs websockets, which is not installed; install it with: "
            f"{install_command('websockets')}"
        ) from None
    rules.positive("--seconds", options.seconds)
    if options.name is not None:
        listener.check_name(options.name)
    access.check_allowed(options.hosts, options.origins)
    certificate = _certificate(options)
    access.check_binding(
        options.host, options.port or access.first_port(options.name or ""), certificate is not None, options.is_plain
    )
    return asyncio.run(_serve(options, certificate))


async def _serve(options: ServeOptions, certificate: Certificate | None) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, _ask_to_stop, stop)
    if interrupts.was_dropped():  # Ctrl-C came during an import, which had lost it
        stop.set()
    work = asyncio.ensure_future(_serve_until_refused(options, certificate))
    asked = asyncio.ensure_future(stop.wait())
    await asyncio.wait([work, asked], timeout=options.seconds, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    if work.done():
        return work.result()
    work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work
    return INTERRUPTED if stop.is_set() else FINISHED


def _ask_to_stop(stop: asyncio.Event) -> None:
    if stop.is_set():
        os._exit(INTERRUPTED)  # the second signal ends a server that hangs
    stop.set()


async def _serve_until_refused(options: ServeOptions, certificate: Certificate | None) -> int:
    """Serves until the simulation refuses this guest, and returns the exit code then."""
    from twixt.relay.serve.server import Server

    name = options.name or await _only_name()
    kept_as = options.kept_as or name
    kept = access.kept(kept_as)
    listening = access.bound(options.host, options.port, kept.port, kept_as)
    with contextlib.closing(listening):
        port = listening.getsockname()[1]
        if options.port is None and kept.port not in (0, port):
            print_notice(f"port {kept.port} is in use; the browser view is on port {port}")
        try:
            access.keep(kept_as, port, kept.token)
        except OSError as error:
            print_notice(f"the link changes at the next start, because it cannot be kept: {error}")
        scheme, host = "http", options.host
        if certificate is not None:
            own = [one for one in options.hosts if ":" not in one]
            scheme, host = "https", certificate.first_without_complaint([access.reachable(host), *own])
        allowed = Access(kept.token, scheme, *(tuple(map(str.lower, one)) for one in (options.hosts, options.origins)))
        pages = Pages(os.path.join(twixt.__path__[0], "web"), allowed.origins)
        simulation = Simulation(name, time.perf_counter_ns(), options.is_owned)
        may_control = access.is_loopback(options.host) if options.may_control is None else options.may_control
        server = Server(simulation, allowed, pages, may_control, options.page)
        opened = await server.listen(listening, None if certificate is None else certificate.context)
        try:
            _print_link(options, access.link(scheme, host, port, kept.token), port)
            ended = await simulation.run(server)
            because = f": {ended.message}" if ended.message else ""
            await server.close(SERVER_ENDED, f"the simulation has ended{because}")
        finally:
            opened.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(opened.wait_closed(), CLOSING_S)
    if options.is_owned and ended.kind in ENDS:
        return ENDS[ended.kind]
    raise TwixtError(f"the simulation refused the server: {ended.message}")


async def _only_name() -> str:
    """Name of the only simulation, as soon as one runs."""
    has_waited = False
    while not (names := listener.running()):
        if not has_waited:
            print_notice("waiting for a simulation; Ctrl-C ends the wait")
        has_waited = True
        await asyncio.sleep(LOOK_S)
    if len(names) > 1:
        raise TwixtError(f"several simulations are running; name one of them: {', '.join(names)}")
    return names[0]


def _print_link(options: ServeOptions, link: str, port: int) -> None:
    if options.is_owned:
        print_notice(f"browser view: {link}\nfrom another machine, type there: {access.ssh_line(port)}")
        return
    print(link)
    if options.is_plain:
        print(f"publish the port of the container on its host's loopback only: {access.docker_line(port)}")
    elif access.is_loopback(options.host):
        print(f"from another machine, type there: {access.ssh_line(port, options.host)}")
    print(end="", flush=True)


def _certificate(options: ServeOptions) -> Certificate | None:
    if options.certificate is None and options.key is None:
        return None
    if options.certificate is None or options.key is None:
        raise TwixtError("--cert FILE and --key FILE must be given together")
    return Certificate(options.certificate, options.key)
