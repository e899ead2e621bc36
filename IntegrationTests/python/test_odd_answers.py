# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The program's own apps, whose requests meet proxies and answers that are odd, but allowed, or broken."""

import contextlib
import json
import socketserver
import threading
import time

import pytest
import requests

from service import Service, run


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    service = Service(tmp_path_factory.mktemp("odd-answers"))
    token, place = service.mint("server"), {"point": {"latitude": 37.4, "longitude": -122.1}}
    trip = {"tripType": "EXCLUSIVE", "pickupPoint": place, "dropoffPoint": place}
    assert service.rest("POST", "trips?tripId=trip-1", token, json=trip).status_code == 200
    end = service.rest("PUT", "trips/trip-1?updateMask=tripStatus", token, json={"tripStatus": "CANCELED"})
    assert end.status_code == 200, end.text
    yield service
    code, _, _ = service.stop()
    assert code == 0


class Relay(socketserver.ThreadingTCPServer):
    """Asks a service what it is asked, and answers with the bytes that `form(number, body)` makes of a 200's body."""

    daemon_threads = True

    def __init__(self, service, form):
        super().__init__(("127.0.0.1", 0), self.Connection)
        self.service, self.form, self.requests = service, form, []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    class Connection(socketserver.StreamRequestHandler):
        def handle(self):
            verb, path, _ = self.rfile.readline().decode().split()
            fields = {}
            while line := self.rfile.readline().decode().strip():
                name, _, value = line.partition(":")
                fields[name.lower()] = value.strip()
            self.server.requests.append(path)
            own = {name: fields[name] for name in ["authorization"] if name in fields}
            answer = requests.request(verb, self.server.service.http + path, headers=own, timeout=30)
            assert answer.status_code == 200, answer.text
            self.wfile.write(self.server.form(len(self.server.requests), answer.content))


@contextlib.contextmanager
def relay(service, form):
    server = Relay(service, form)
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def watched(server, **options):
    return run("watch", "--trip", "trip-1", "--engine", server, "--token-server", server, "--output", "json", **options)


def whole(body, *fields):
    lines = [b"HTTP/1.1 200 OK", b"Connection: close", b"Content-Length: %d" % len(body), *fields]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def with_trailer(_, body):
    return (b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n"
            b"Server-Timing: db;dur=5\r\n\r\n" % (len(body), body))


def cut_in_the_head(number, body):
    return b"HTTP/1.1 200 OK\r\nContent-Le" if number == 1 else whole(body)


def cut_before_the_head(number, body):
    return b"" if number <= 2 else whole(body)


def cut_in_the_body(number, body):
    return whole(body)[:-5] if number == 1 else whole(body)


@pytest.mark.parametrize("form", [
    with_trailer, cut_in_the_head, cut_before_the_head, cut_in_the_body,
    lambda _, body: whole(body, b"X-Tight:yes", b"Content-Type:application/json"),
    lambda _, body: whole(body, b"X-Town: K\xf6ln"),
], ids=["trailer", "cut in the head", "cut before the head", "cut in the body", "no blank", "no UTF-8"])
def test_a_trip_is_watched_over_answers_that_are_odd_or_break_off_once(service, form):
    with relay(service, form) as server:
        result = watched(server.url)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout.splitlines()[-1])["value"] == "CANCELED"


def test_a_challenge_refuses_the_customer_at_once(service):
    def challenge(_, body):
        return (b"HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nWWW-Authenticate: Basic realm=\"x\"\r\n"
                b"Content-Length: 0\r\n\r\n")

    with relay(service, challenge) as server:
        start = time.monotonic()
        result = watched(server.url)
    assert result.returncode == 1 and b"the trip cannot be watched: " in result.stderr, result.stderr
    assert time.monotonic() - start < 8, "the time that a fetch may take"


class Proxy(socketserver.ThreadingTCPServer):
    """Notes what would be sent through it, and refuses it."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Connection)
        self.seen = []
        url = f"http://127.0.0.1:{self.server_address[1]}"
        self.environment = {"http_proxy": url, "all_proxy": url, "ALL_PROXY": url, "no_proxy": "", "NO_PROXY": ""}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    class Connection(socketserver.StreamRequestHandler):
        def handle(self):
            self.server.seen.append(self.rfile.readline())
            self.wfile.write(b"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")


@pytest.fixture
def proxy():
    with Proxy() as server:
        yield server
        server.shutdown()
        assert server.seen == [], "what is meant for this machine went to a proxy"


def test_a_customer_passes_a_proxy_by_that_the_environment_names(service, proxy):
    result = watched(service.http, environment=proxy.environment | {"FLEETPASS_SECRET": "never-for-a-proxy"})
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout.splitlines()[-1])["value"] == "CANCELED"


def wait_for_drivers(demo):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        vehicles = requests.get(f"{demo.http}/page/state", timeout=10).json()["vehicles"].values()
        if sum(vehicle["state"] == "online" and "place" in vehicle for vehicle in vehicles) >= 2:
            return
        time.sleep(0.5)
    raise AssertionError("no drivers after 60 s")


def test_a_demo_passes_a_proxy_by_that_the_environment_names(tmp_path, proxy):
    demo = Service(tmp_path, "--speed", "20", command="demo", environment=proxy.environment)
    wait_for_drivers(demo)
    code, _, errors = demo.stop()
    assert code == 0, errors
