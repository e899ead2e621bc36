# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Connections to an engine that say nothing: ten thousand cost little memory and no caller, and none costs the store its
files."""

import contextlib
import os
import resource
import socket
import time
from pathlib import Path

import h2.config
import h2.connection
import h2.events
import pytest
import requests

import service as programs
from clients import vehicle_body, with_token
from engine_server import EngineServer
from test_serve_engine import folder, mint  # noqa: F401  (a fixture)

OVER_HTTP, OVER_GRPC = 9_000, 1_000
# What the engine may open is shared by its ports, and some files are kept for the store.
FILES = 2 * (OVER_HTTP + 100) + 256
# A debug build takes 23 and 43, see docs/scale.md.
KIB_FOR_EACH = {"http": 48, "grpc": 80}
# No test ends a connection over HTTP by taking long.
PATIENT = "limits: {idle: 20m, request: 10m}\n"


class OverHTTP:
    """One that was answered once, and may ask again."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.http_port), timeout=60)
        self.ask()

    def ask(self):
        self.socket.sendall(b"GET /healthz HTTP/1.1\r\nHost: engine\r\n\r\n")

    def hear(self):
        received = b""
        while not received.endswith(b"\r\n\r\nok\n"):
            data = self.socket.recv(4096)
            assert data, "the connection was closed"
            received += data
        assert received.startswith(b"HTTP/1.1 200 ")


class OverGRPC:
    """One whose settings were agreed upon, and which may ask whether the other end is there."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.grpc_port), timeout=60)
        self.http = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self.http.initiate_connection()
        self.ask()

    def ask(self):
        self.http.ping(b"there it")
        self.socket.sendall(self.http.data_to_send())

    def hear(self):
        while True:
            data = self.socket.recv(4096)
            assert data, "the connection was closed"
            events = self.http.receive_data(data)
            self.socket.sendall(self.http.data_to_send())
            assert not any(isinstance(event, h2.events.ConnectionTerminated) for event in events)
            if any(isinstance(event, h2.events.PingAckReceived) for event in events):
                return

    def answer(self):
        """Answers where the engine asked whether it is there, as it does after a minute."""
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            self.http.receive_data(self.socket.recv(4096))
            self.socket.sendall(self.http.data_to_send())
        self.socket.settimeout(60)


def connect(kind, server, count):
    """That many connections, a few at a time, so that none has to wait in line."""
    connections = []
    for _ in range(0, count, 100):
        some = [kind(server) for _ in range(100)]
        for connection in some:
            connection.hear()
        connections += some
    return connections


def still_there(connections):
    for start in range(0, len(connections), 100):
        for connection in connections[start : start + 100]:
            connection.ask()
        for connection in connections[start : start + 100]:
            connection.hear()


def memory(server):
    """What a server has in memory, in KiB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0])


def open_files(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def connected(server, port, get=None):
    """How many connections a server counts; asked over a connection that is there, where one is given."""
    text = (get or requests.get)(f"{server.http}/metrics", timeout=30).text
    return int(float(text.partition(f'\nfleetpass_connections{{port="{port}"}} ')[2].split()[0]))


def serves(server, token, vehicle):
    """Serves newcomers over both ports, a change of the store among it; gives how long the slowest waited."""
    name = f"providers/{server.provider}/vehicles/{vehicle}"

    def timed(call):
        begun = time.monotonic()
        call()
        return time.monotonic() - begun

    def create():
        answer = server.rest("POST", f"vehicles?vehicleId={vehicle}", token, json=vehicle_body())
        assert answer.status_code == 200, answer.text

    def get():
        clients = with_token(server, token)
        assert clients.vehicles.get_vehicle(request={"name": name}, timeout=30, retry=None).name == name
        clients.vehicles.transport.grpc_channel.close()

    return max(timed(create), *(timed(get) for _ in range(5)), *(timed(lambda: server.get("/readyz")) for _ in range(5)))


def eventually(holds, what, seconds=30):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def test_ten_thousand_idle_connections_cost_little_and_nobody_else_anything(folder):  # noqa: F811
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < FILES:
        pytest.skip(f"a process may open {hard} files here, and the engine needs {FILES}; raise the limit (ulimit -Hn)")
    token = mint(folder, "server")
    with contextlib.ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, FILES), hard))
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        server = EngineServer(folder, PATIENT)
        stack.callback(server.kill)
        # What first calls take once is no connection's.
        serves(server, token, "before")
        for connection in connect(OverHTTP, server, 100) + connect(OverGRPC, server, 100):
            connection.socket.close()
        eventually(lambda: connected(server, "grpc") == 0, "connections that ended are kept")
        files, over_grpc, over_http = open_files(server), [], []

        def measured(port, connections, open_all):
            before = memory(server)
            open_all()
            assert connected(server, port) >= len(connections)
            each = (memory(server) - before) / len(connections)
            print(f"{each:.1f} KiB for each of {len(connections)} idle connections over {port}")
            assert each < KIB_FOR_EACH[port], f"{each:.1f} KiB over {port}"

        def open_http():
            for _ in range(0, OVER_HTTP, 500):
                over_http.extend(connect(OverHTTP, server, 500))
                for connection in over_grpc:
                    connection.answer()

        measured("grpc", over_grpc, lambda: over_grpc.extend(connect(OverGRPC, server, OVER_GRPC)))
        measured("http", over_http, open_http)
        print(f"others are served within {serves(server, token, 'beside'):.3f} s")
        assert server.get("/readyz").status_code == 200
        # None was closed to make room for another.
        assert connected(server, "grpc") >= OVER_GRPC and connected(server, "http") >= OVER_HTTP
        still_there(over_grpc)
        still_there(over_http[::10])

        # They all end at once.
        begun = time.monotonic()
        for connection in over_http + over_grpc:
            connection.socket.close()

        def serves_again():
            with contextlib.suppress(requests.Timeout):
                return connected(server, "http") + connected(server, "grpc") < 20
        eventually(serves_again, "connections that ended are kept", 150)
        print(f"all ended after {time.monotonic() - begun:.1f} s")
        serves(server, token, "after")
        # A few more than before: what callers were served with.
        assert open_files(server) < files + 50
        assert server.rest("GET", "vehicles/beside", token).status_code == 200
        code, _, errors = server.stop()
        assert code == 0, errors


def test_a_crowd_of_connections_leaves_the_store_its_files(folder, tmp_path, monkeypatch):  # noqa: F811
    few = tmp_path / "few-files"
    few.write_text(f'#!/bin/sh\nulimit -n 400\nexec "{programs.PROGRAM}" "$@"\n', encoding="utf-8")
    few.chmod(0o700)
    monkeypatch.setattr(programs, "PROGRAM", str(few))
    server = EngineServer(folder, PATIENT)
    monkeypatch.undo()
    token = mint(folder, "server")
    with contextlib.ExitStack() as stack:
        stack.callback(server.kill)
        session = stack.enter_context(requests.Session())
        path = f"{server.http}/v1/providers/{server.provider}/vehicles"
        session.headers["Authorization"] = f"Bearer {token}"
        assert session.get(path, timeout=30).status_code == 200
        # More than it may open files, on each port. Those for whom there is no place wait in line.
        crowd = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            for port in (server.http_port, server.grpc_port) for _ in range(450)]
        # Who is connected reads and changes the store, which opens files for it.
        for number in range(50):
            answer = session.post(f"{path}?vehicleId=veh-{number}", json=vehicle_body(), timeout=30)
            assert answer.status_code == 200, answer.text
            assert len(session.get(path, timeout=30).json()["vehicles"]) == number + 1
        answer = session.get(f"{server.http}/readyz", timeout=30)
        assert answer.status_code == 200, answer.text
        # There is really no place left, and half of the files are not for connections; a few are let in together.
        assert all(100 <= connected(server, port, session.get) < 110 for port in ("http", "grpc"))
        assert open_files(server) < 300
        with pytest.raises(requests.Timeout):
            requests.get(f"{server.http}/healthz", timeout=1)
        for one in crowd:
            one.close()
        serves(server, token, "after")
        code, _, errors = server.stop()
        assert code == 0, errors
        assert errors.count("takes fewer connections than limits.connections") == 1
