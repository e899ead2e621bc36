# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""What `serve tokens` makes of connections: client certificates, headers of a trusted proxy, and how they end."""

import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import threading
import time
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import h2.config
import h2.connection
import h2.events
import hpack
import pytest
import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hyperframe.frame import Frame, GoAwayFrame, HeadersFrame, PingFrame

from engine_server import certificate, openssl
from service import run
from test_serve import SECRET, TokenServer

BASE = "provider: demo-fleet\ndata: .\nkeys: service-accounts\n"


@pytest.fixture
def folder(tmp_path, service):
    shutil.copytree(service.data / "service-accounts", tmp_path / "service-accounts")
    return tmp_path


@pytest.fixture
def certificates(folder):
    certificate(folder, "authority", "DNS:authority")
    return {
        "server": certificate(folder, "server", "IP:127.0.0.1"),
        "dispatch": certificate(folder, "dispatch", "URI:spiffe://acme/dispatch", "authority"),
        "unlisted": certificate(folder, "unlisted", "URI:spiffe://acme/unlisted", "authority"),
        "forged": certificate(folder, "forged", "URI:spiffe://acme/dispatch"),
    }


def start(folder, demand, identity="uri: 'spiffe://acme/dispatch'", more=""):
    return TokenServer(
        folder,
        f"listen: {{tls: {{certificate: server.pem, key: server-key.pem, client_ca: authority.pem, "
        f"client_certificate: {demand}}}}}\n"
        f"callers: {{certificate: {{dispatch: {{{identity}, roles: driver}}}}}}\n{more}",
        base=BASE)


def get(server, folder, path="/token/driver/veh-1", pair=None):
    return requests.get(server.http + path, cert=pair, verify=str(folder / "server.pem"), timeout=10)


def test_a_backend_is_known_by_its_certificate(folder, certificates):
    server = start(folder, "optional")
    assert get(server, folder, pair=certificates["dispatch"]).status_code == 200
    assert get(server, folder, "/token/consumer/trip-1", certificates["dispatch"]).status_code == 403
    assert get(server, folder, pair=certificates["unlisted"]).status_code == 401
    assert get(server, folder).status_code == 401
    assert get(server, folder, "/healthz").status_code == 200
    with pytest.raises(requests.exceptions.ConnectionError):
        get(server, folder, pair=certificates["forged"])
    assert server.stop()[0] == 0
    found = run("audit", "search", "--data", folder, "--output", "json").stdout.decode()
    assert '"caller":"dispatch"' in found


@pytest.mark.parametrize("key", ["rsa:2048", "ed25519", *(f"ec -pkeyopt ec_paramgen_curve:P-{bits}" for bits in (
    256, 384, 521))])
def test_a_certificate_may_have_any_kind_of_key_on_either_side(folder, certificates, key):
    certificate(folder, "server", "IP:127.0.0.1", key=key)
    pair = certificate(folder, "newcomer", "URI:spiffe://acme/dispatch", "authority", key)
    server = start(folder, "required")
    assert get(server, folder, pair=pair).status_code == 200
    assert server.stop()[0] == 0
    server = start(folder, "optional")
    token = get(server, folder, pair=pair).json()["jwt"]
    trusted = {"SSL_CERT_FILE": str(folder / "server.pem")}
    keys = f"{server.http}/.well-known/jwks.json"
    assert run("verify", "-", "--keys", keys, stdin=token.encode(), environment=trusted).returncode == 0
    assert server.stop()[0] == 0


def test_where_a_certificate_is_required_nobody_gets_in_without(folder, certificates):
    server = start(folder, "required")
    assert get(server, folder, pair=certificates["dispatch"]).status_code == 200
    for path in ["/token/driver/veh-1", "/healthz"]:
        with pytest.raises(requests.exceptions.ConnectionError):
            get(server, folder, path)
    assert server.stop()[0] == 0


def test_the_whole_subject_can_name_a_backend_and_the_common_name_cannot(folder, certificates):
    server = start(folder, "optional", identity="subject: 'CN=dispatch'")
    assert get(server, folder, pair=certificates["dispatch"]).status_code == 200
    assert get(server, folder, pair=certificates["unlisted"]).status_code == 401
    assert server.stop()[0] == 0
    # The same common name below another organization is somebody else.
    server = start(folder, "optional", identity="subject: 'CN=dispatch,O=Acme'")
    assert get(server, folder, pair=certificates["dispatch"]).status_code == 401
    assert server.stop()[0] == 0


def eventually(condition, what):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def test_authorities_are_read_again_when_they_change(folder, certificates):
    certificate(folder, "second", "DNS:second")
    pair = certificate(folder, "newcomer", "URI:spiffe://acme/dispatch", "second")

    def answers(pair):
        try:
            return get(server, folder, pair=pair).status_code
        except requests.exceptions.ConnectionError:
            return None

    server = start(folder, "required")
    assert (answers(certificates["dispatch"]), answers(pair)) == (200, None)
    authorities = (folder / "authority.pem").read_text(encoding="utf-8")
    (folder / "authority.pem").write_text(
        authorities + (folder / "second.pem").read_text(encoding="utf-8"), encoding="utf-8")
    eventually(lambda: answers(pair) == 200, "the new authority is not taken")
    assert answers(certificates["dispatch"]) == 200
    # What cannot be read changes nothing, and is told once: the next change is looked at for itself.
    (folder / "authority.pem").write_text("nothing", encoding="utf-8")
    def is_failing(number):
        text = get(server, folder, "/metrics", pair=pair).text
        return f"\nfleetpass_certificate_reload_failing {number}\n" in text

    eventually(lambda: is_failing(1), "nothing tells that the file cannot be used")
    assert (answers(certificates["dispatch"]), answers(pair)) == (200, 200)
    shutil.copy(folder / "second.pem", folder / "authority.pem")
    eventually(lambda: answers(certificates["dispatch"]) is None, "the old authority is still taken")
    assert answers(pair) == 200
    code, _, errors = server.stop()
    assert code == 0
    assert errors.count("what was read last stays in force") == 1
    assert "holds no certificate in PEM form" in errors


def test_an_open_connection_does_not_outlive_its_certificate(folder, certificates):
    authority = x509.load_pem_x509_certificate((folder / "authority.pem").read_bytes())
    signer = serialization.load_pem_private_key((folder / "authority-key.pem").read_bytes(), None)
    key = ec.generate_private_key(ec.SECP256R1())
    server = start(folder, "required")
    now = datetime.now(timezone.utc)
    short = (
        x509.CertificateBuilder().subject_name(x509.Name([])).issuer_name(authority.subject)
        .public_key(key.public_key()).serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(seconds=6))
        .add_extension(
            x509.SubjectAlternativeName([x509.UniformResourceIdentifier("spiffe://acme/dispatch")]), critical=True)
        .sign(signer, hashes.SHA256()))
    (folder / "short.pem").write_bytes(short.public_bytes(serialization.Encoding.PEM))
    (folder / "short-key.pem").write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    pair = (str(folder / "short.pem"), str(folder / "short-key.pem"))
    context = ssl.create_default_context(cafile=folder / "server.pem")
    context.load_cert_chain(*pair)
    client = http.client.HTTPSConnection(*address(server), context=context, timeout=20)
    peer = Peer(server, folder, pair)

    def ask():
        client.request("GET", "/token/driver/veh-1")
        answer = client.getresponse()
        answer.read()
        return answer

    answer = ask()
    assert (answer.status, answer.getheader("Connection")) == (200, None)
    peer.ask("/token/driver/veh-1")
    head = next(event for event in peer.read(h2.events.StreamEnded) if isinstance(event, h2.events.ResponseReceived))
    assert dict(head.headers)[b":status"] == b"200"
    answers = []

    def has_ended():
        answers.append(ask())
        return answers[-1].getheader("Connection") == "close"

    eventually(has_ended, "a connection outlives its certificate")
    assert answers[-1].status == 401
    stream = peer.ask("/token/driver/veh-1")
    frames = list(peer.frames(acknowledges=True))
    head = next(frame for frame in frames if isinstance(frame, HeadersFrame) and frame.stream_id == stream)
    assert dict(peer.http.decoder.decode(head.data))[":status"] == "401"
    assert any(isinstance(frame, GoAwayFrame) for frame in frames)
    client.close()


def test_a_file_that_could_not_be_used_is_taken_once_it_can_be_with_the_same_date(folder, certificates):
    """As after a mended permission, which changes neither the file's size nor its date."""
    certificate(folder, "second", "DNS:second")
    pair = certificate(folder, "newcomer", "URI:spiffe://acme/dispatch", "second")
    wanted = (folder / "second.pem").read_text(encoding="utf-8")

    def write(text):
        (folder / "authority.pem").write_text(text, encoding="utf-8")
        os.utime(folder / "authority.pem", (1_700_000_000, 1_700_000_000))

    def answers():
        try:
            return get(server, folder, pair=pair).status_code
        except requests.exceptions.ConnectionError:
            return None

    server = start(folder, "required")
    assert answers() is None
    write("-" * len(wanted))
    for line in server.process.stderr:
        if "what was read last stays in force" in line:
            break
    write(wanted)
    eventually(lambda: answers() == 200, "the mended file is not taken")
    assert server.stop()[0] == 0


class Peer:
    """A client of HTTP/2 that reads only when it is told to."""

    def __init__(self, server, folder, pair=None):
        context = ssl.create_default_context(cafile=folder / "server.pem")
        context.set_alpn_protocols(["h2"])
        if pair:
            context.load_cert_chain(*pair)
        port = int(server.http.rsplit(":", 1)[1])
        self.socket = context.wrap_socket(
            socket.create_connection(("127.0.0.1", port), timeout=20), server_hostname="127.0.0.1")
        assert self.socket.selected_alpn_protocol() == "h2"
        self.http = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self.http.initiate_connection()
        self.send()

    def send(self):
        self.socket.sendall(self.http.data_to_send())

    def ask(self, path):
        stream = self.http.get_next_available_stream_id()
        self.http.send_headers(
            stream, [(":method", "GET"), (":scheme", "https"), (":authority", "127.0.0.1"), (":path", path)],
            end_stream=True)
        self.send()
        return stream

    def read(self, until):
        """Events up to the one that is waited for, or up to the end of the connection."""
        events = []
        while not any(isinstance(event, until) for event in events):
            data = self.socket.recv(65536)
            if not data:
                break
            events += self.http.receive_data(data)
            self.send()
        return events

    def frames(self, acknowledges=False):
        """Every frame until the connection ends, without an answer to any but, where that is wanted, to each PING."""
        data = b""
        while True:
            try:
                more = self.socket.recv(65536)
            except ConnectionResetError:
                return
            if not more:
                return
            data += more
            while len(data) >= 9:
                frame, length = Frame.parse_frame_header(memoryview(data[:9]))
                if len(data) < 9 + length:
                    break
                frame.parse_body(memoryview(data[9 : 9 + length]))
                data = data[9 + length :]
                if acknowledges and isinstance(frame, PingFrame):
                    self.socket.sendall(PingFrame(0, frame.opaque_data, flags=["ACK"]).serialize())
                yield frame


def test_a_client_over_tls_that_waits_for_leave_to_send_a_body_gets_it(folder, certificates):
    server = start(folder, "optional")
    context = ssl.create_default_context(cafile=folder / "server.pem")
    address = ("127.0.0.1", int(server.http.rsplit(":", 1)[1]))
    with socket.create_connection(address, timeout=20) as plain, \
            context.wrap_socket(plain, server_hostname="127.0.0.1") as client:
        client.sendall(
            b"POST /v1/tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        received = b""
        while b"\r\n\r\n" not in received:
            data = client.recv(65536)
            assert data, "the connection was closed"
            received += data
        assert received.startswith(b"HTTP/1.1 100 Continue\r\n\r\n")
    peer = Peer(server, folder)
    stream = peer.http.get_next_available_stream_id()
    peer.http.send_headers(stream, [
        (":method", "POST"), (":scheme", "https"), (":authority", "127.0.0.1"), (":path", "/v1/tokens"),
        ("expect", "100-continue"), ("content-length", "2")])
    peer.send()
    leave = h2.events.InformationalResponseReceived
    assert any(isinstance(event, leave) for event in peer.read(leave))
    peer.socket.close()
    assert server.stop()[0] == 0


def test_a_path_of_http2_that_names_a_host_is_nobodys(folder, certificates):
    server = start(folder, "optional")
    peer = Peer(server, folder)
    answered = h2.events.ResponseReceived
    for path, status in (("/token/driver/vehicle-1", b"401"), ("x://y/token/driver/vehicle-1", b"404")):
        peer.ask(path)
        head = next(event for event in peer.read(answered) if isinstance(event, answered))
        assert dict(head.headers)[b":status"] == status
    peer.socket.close()
    assert server.stop()[0] == 0


@pytest.mark.parametrize("end", [0, 20, -3])
def test_a_first_head_of_http2_that_does_not_come_whole_ends_its_connection(folder, certificates, end):
    server = start(folder, "optional", more="limits: {request: 2s, idle: 1m}\n")
    context = ssl.create_default_context(cafile=folder / "server.pem")
    context.set_alpn_protocols(["h2"])
    address = ("127.0.0.1", int(server.http.rsplit(":", 1)[1]))
    http = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    http.initiate_connection()
    http.send_headers(1, [
        (":method", "GET"), (":scheme", "https"), (":authority", "127.0.0.1"), (":path", "/healthz")], end_stream=True)
    with socket.create_connection(address, timeout=30) as plain, \
            context.wrap_socket(plain, server_hostname="127.0.0.1") as client:
        client.sendall(http.data_to_send()[:end])
        begun = time.monotonic()
        while client.recv(65536):
            pass
        assert time.monotonic() - begun < 20
    assert server.stop()[0] == 0


def test_idle_http2_connections_do_not_keep_the_server(folder, certificates):
    server = start(folder, "optional")
    # One that asked and reads nothing more, and one that never asked.
    idle, fresh = Peer(server, folder), Peer(server, folder)
    stream = idle.ask("/healthz")
    assert any(isinstance(event, h2.events.StreamEnded) for event in idle.read(h2.events.StreamEnded))
    fresh.read(h2.events.RemoteSettingsChanged)
    begun = time.monotonic()
    code, _, _ = server.stop()
    took = time.monotonic() - begun
    assert code == 0
    # The limit for requests under way is 25 s; what waits for none of them takes a fraction of it.
    assert took < 12, f"{took:.1f} s"
    for peer, last in [(idle, stream), (fresh, 0)]:
        goodbyes = [frame.last_stream_id for frame in peer.frames() if isinstance(frame, GoAwayFrame)]
        assert goodbyes[-1] == last, "the last GOAWAY tells which request was worked on"


class SlowWebhook(BaseHTTPRequestHandler):
    """A policy's webhook that takes as long as the test wants, and grants nothing."""

    protocol_version = "HTTP/1.1"
    asked, release = threading.Event(), threading.Event()

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.set()
        self.release.wait(30)
        body = json.dumps({"decision": "refuse"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def slow_webhook():
    handler = type("Handler", (SlowWebhook,), {"asked": threading.Event(), "release": threading.Event()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield handler, f"http://127.0.0.1:{server.server_port}"
    handler.release.set()
    server.shutdown()
    server.server_close()


def name_caller(folder):
    """Names the caller of the secret."""
    callers = [{"name": "app", "secret_sha256": hashlib.sha256(SECRET.encode()).hexdigest(), "roles": ["driver"]}]
    (folder / "callers.json").write_text(json.dumps({"callers": callers}), encoding="utf-8")


def slow_start(folder, url, limits, listen="listen: {tls: {certificate: server.pem, key: server-key.pem}}\n"):
    name_caller(folder)
    (folder / "webhook.secret").write_text("the-secret-of-the-webhook-7f3a9c0d", encoding="utf-8")
    (folder / "policy.yaml").write_text(
        f"version: 1\nwebhook: {{url: '{url}', timeout: 30s, cache: 0s}}\n"
        "rules:\n  - {name: ask, when: any_caller, grant: driver, for: webhook}\n", encoding="utf-8")
    return TokenServer(
        folder,
        f"{listen}callers: {{file: callers.json}}\npolicy: {{file: policy.yaml, secret_file: webhook.secret}}\n"
        f"limits: {{{limits}}}\n", base=BASE)


ASKING = (
    "GET /token/driver/veh-1 HTTP/1.1\r\nHost: tokens\r\n"
    f"Authorization: Bearer {SECRET}\r\n\r\n").encode()


def address(server):
    return "127.0.0.1", int(server.http.rsplit(":", 1)[1])


def ask_slowly(peer):
    """Asks for a token, for which the server must wait."""
    stream = peer.http.get_next_available_stream_id()
    peer.http.send_headers(
        stream, [(":method", "GET"), (":scheme", "https"), (":authority", "127.0.0.1"),
                 (":path", "/token/driver/veh-1"), ("authorization", f"Bearer {SECRET}")], end_stream=True)
    peer.send()
    return stream


@pytest.mark.parametrize("acknowledges", [True, False])
def test_a_request_under_way_is_answered_before_its_connection_ends(folder, certificates, slow_webhook, acknowledges):
    handler, url = slow_webhook
    server = slow_start(folder, url, "drain: 25s")
    peer = Peer(server, folder)
    stream = ask_slowly(peer)
    assert handler.asked.wait(20), "the server did not ask the webhook"
    server.process.send_signal(signal.SIGTERM)
    frames = peer.frames(acknowledges)
    goodbyes = []
    # Who acknowledges the PING behind the first GOAWAY is sent another at once, who does not at the end.
    while len(goodbyes) < (2 if acknowledges else 1):
        frame = next(frames)
        assert not isinstance(frame, HeadersFrame)
        goodbyes += [frame] if isinstance(frame, GoAwayFrame) else []
    handler.release.set()
    rest = list(frames)
    (answer,) = [frame for frame in rest if isinstance(frame, HeadersFrame)]
    assert answer.stream_id == stream
    assert dict(hpack.Decoder().decode(answer.data))[":status"] == "403"
    assert any("END_STREAM" in frame.flags for frame in rest if frame.stream_id == stream)
    goodbyes += [frame for frame in rest if isinstance(frame, GoAwayFrame)]
    assert goodbyes[-1].last_stream_id == stream
    assert server.process.wait(timeout=12) == 0


@pytest.mark.parametrize("is_secure", [True, False])
def test_the_answer_to_a_request_under_way_tells_that_its_connection_ends(folder, certificates, slow_webhook, is_secure):
    handler, url = slow_webhook
    server = slow_start(folder, url, "drain: 25s", **({} if is_secure else {"listen": ""}))

    def is_open():
        try:
            socket.create_connection(address(server), timeout=20).close()
        except ConnectionRefusedError:
            return False
        return True
    context = ssl.create_default_context(cafile=folder / "server.pem")
    with socket.create_connection(address(server), timeout=20) as plain:
        client = context.wrap_socket(plain, server_hostname="127.0.0.1") if is_secure else plain
        client.sendall(ASKING)
        assert handler.asked.wait(20), "the server did not ask the webhook"
        server.process.send_signal(signal.SIGTERM)
        eventually(lambda: not is_open(), "the port stays open")
        handler.release.set()
        received = b""
        while data := client.recv(65536):
            received += data
        assert b"\r\nconnection: close\r\n" in received.lower()
        client.close()
    assert server.process.wait(timeout=12) == 0


def test_a_request_that_takes_longer_than_the_limit_does_not_keep_the_server(folder, certificates, slow_webhook):
    handler, url = slow_webhook
    server = slow_start(folder, url, "drain: 2s")
    peer = Peer(server, folder)
    ask_slowly(peer)
    assert handler.asked.wait(20), "the server did not ask the webhook"
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(timeout=20)
    assert not any(isinstance(frame, HeadersFrame) for frame in peer.frames())


def test_a_request_in_the_clear_is_cut_off_at_the_same_limit(folder, slow_webhook):
    handler, url = slow_webhook
    server = slow_start(folder, url, "drain: 1s", listen="")
    with socket.create_connection(address(server), timeout=20) as client:
        client.sendall(ASKING)
        assert handler.asked.wait(20), "the server did not ask the webhook"
        told = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert client.recv(1024) == b""
        # The other limit, of everything that still runs, would be 6 s.
        assert time.monotonic() - told < 5
    handler.release.set()
    server.process.wait(timeout=20)


def test_senders_who_break_off_have_no_more_worked_on_than_there_are_places(folder, slow_webhook):
    handler, url = slow_webhook
    server = slow_start(folder, url, "pending: 8", listen="")
    request = ASKING
    clients = []
    # The ninth is turned away, once the others are let in.
    for _ in range(8):
        clients.append(socket.create_connection(address(server), timeout=20))
        clients[-1].sendall(request)
    assert handler.asked.wait(20), "the server did not ask the webhook"

    def turned_away():
        with socket.create_connection(address(server), timeout=20) as client:
            clients.append(client)
            client.sendall(request)
            client.settimeout(1)
            try:
                return b"than can be made" in client.recv(4096)
            except TimeoutError:
                return False
    eventually(turned_away, "more were let in than there are places")
    for client in clients[:8]:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    # A request on a connection of its own comes after their ends.
    assert requests.get(server.http + "/healthz", timeout=10).text == "ok\n"
    assert [turned_away() for _ in range(8)] == [True] * 8
    handler.release.set()
    eventually(lambda: not turned_away(), "places are not given back")
    assert server.stop()[0] == 0


@pytest.mark.parametrize("is_secure", [True, False])
def test_requests_that_are_sent_together_are_all_answered(folder, certificates, slow_webhook, is_secure):
    server = slow_start(folder, slow_webhook[1], "pending: 2", **({} if is_secure else {"listen": ""}))
    context = ssl.create_default_context(cafile=folder / "server.pem")
    clients = []
    # More connections than places: each would keep one with a request that nobody works on.
    for _ in range(3):
        plain = socket.create_connection(address(server), timeout=20)
        clients.append(context.wrap_socket(plain, server_hostname="127.0.0.1") if is_secure else plain)
    for client in clients:
        client.sendall(b"GET /token/driver/veh-1 HTTP/1.1\r\nHost: tokens\r\n\r\n" * 3)
        received = b""
        while received.count(b"HTTP/1.1 401 ") < 3:
            data = client.recv(65536)
            assert data, f"the connection ended after {received.count(b'HTTP/1.1 401 ')} answers"
            received += data
    for client in clients:
        client.close()
    assert server.stop()[0] == 0


@pytest.mark.parametrize("is_secure", [True, False])
def test_who_asks_for_another_protocol_gets_an_answer_and_the_connections_end(
        folder, certificates, slow_webhook, is_secure):
    server = slow_start(folder, slow_webhook[1], "idle: 75s", **({} if is_secure else {"listen": ""}))
    context = ssl.create_default_context(cafile=folder / "server.pem")
    with socket.create_connection(address(server), timeout=20) as plain:
        client = context.wrap_socket(plain, server_hostname="127.0.0.1") if is_secure else plain
        client.sendall(
            b"GET /healthz HTTP/1.1\r\nHost: tokens\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
            b"HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n")
        received = b""
        while data := client.recv(65536):
            received += data
        assert received.startswith(b"HTTP/1.1 200 ") and received.endswith(b"ok\n")
        assert b"\r\nconnection: close\r\n" in received.lower()
        client.close()
    assert server.stop()[0] == 0


def test_what_cannot_be_read_is_told_behind_the_answers_before_it(folder, slow_webhook):
    server = slow_start(folder, slow_webhook[1], "request: 30s", listen="")
    with socket.create_connection(address(server), timeout=20) as client:
        ask = b"GET /token/driver/veh-1 HTTP/1.1\r\nHost: tokens\r\n\r\n"
        client.sendall(ask * 2 + b"GET /token/driver/veh-1 HTTP/1.1\r\n\r\n")
        received = b""
        while data := client.recv(65536):
            received += data
    assert re.findall(rb"HTTP/1.1 (\d+) ", received) == [b"401", b"401", b"400"]
    assert server.stop()[0] == 0


def test_a_request_that_is_not_read_on_has_the_time_that_others_take(folder, slow_webhook):
    handler, url = slow_webhook
    server = slow_start(folder, url, "request: 1s", listen="")
    with socket.create_connection(address(server), timeout=20) as client:
        client.sendall(ASKING + b"POST /v1/tokens HTTP/1.1\r\nHost: tokens\r\nContent-Length: 2\r\n\r\n{")
        assert handler.asked.wait(20), "the server did not ask the webhook"
        client.settimeout(3)
        with pytest.raises(TimeoutError):
            client.recv(1024)
        handler.release.set()
        client.settimeout(20)
        received = b""
        while data := client.recv(65536):
            received += data
    (first, second) = re.findall(rb"HTTP/1.1 (\d+) ", received)
    assert (first, second) == (b"403", b"408")
    assert server.stop()[0] == 0


def test_who_reads_nothing_of_what_is_answered_is_cut_off(folder, slow_webhook):
    server = slow_start(folder, slow_webhook[1], "request: 1s", listen="")
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(address(server))
        client.settimeout(0.2)
        ask = b"GET /openapi.json HTTP/1.1\r\nHost: tokens\r\n\r\n" * 100

        def is_cut_off():
            try:
                client.sendall(ask)
            except TimeoutError:
                return False
            except (BrokenPipeError, ConnectionResetError):
                return True
            return False
        eventually(is_cut_off, "the connection stays")
    assert server.stop()[0] == 0


def test_authorities_that_cannot_be_read_are_named(folder, certificates):
    (folder / "authority.pem").write_text("nothing", encoding="utf-8")
    config = folder / "tokens.yaml"
    config.write_text(
        BASE + "listen: {tls: {certificate: server.pem, key: server-key.pem, client_ca: authority.pem}}\n"
        "callers: {certificate: {dispatch: {uri: 'spiffe://acme/dispatch'}}}\n", encoding="utf-8")
    result = run("serve", "tokens", "--config", config)
    assert result.returncode == 78
    assert "listen.tls.client_ca" in result.stderr.decode()


def refused(folder):
    """What is said of a certificate and a key that are not taken."""
    config = folder / "tokens.yaml"
    config.write_text(
        BASE + "listen: {tls: {certificate: server.pem, key: server-key.pem}}\n"
        "callers: {proxy: {edge: {peers: 192.0.2.1, subject_header: X-User}}}\npolicy: {}\n", encoding="utf-8")
    result = run("serve", "tokens", "--config", config)
    assert result.returncode == 78
    return result.stderr.decode().splitlines()[-1]


@pytest.mark.parametrize("form", ["PKCS8", "TraditionalOpenSSL"])
def test_an_encrypted_key_is_called_so(folder, certificates, form):
    file = folder / "server-key.pem"
    key = serialization.load_pem_private_key(file.read_bytes(), None)
    file.write_bytes(key.private_bytes(
        serialization.Encoding.PEM, getattr(serialization.PrivateFormat, form),
        serialization.BestAvailableEncryption(b"secret")))
    assert refused(folder) == (
        f"fleetpass: listen.tls.key: {file} is encrypted, and nobody is asked for a passphrase; write it without one, "
        f"openssl pkey -in {file} -out FILE, and name that file.")


# Of an authority that is to sign only, TLS takes not even the certificate.
@pytest.mark.parametrize("usage", [[], ["-addext", "keyUsage=critical,keyCertSign"]], ids=["any use", "to sign"])
def test_a_chain_that_begins_with_the_root_is_said_to(folder, certificates, usage):
    openssl(
        folder, "req", "-x509", "-key", "authority-key.pem", "-days", "2", "-subj", "/CN=authority",
        "-out", "authority.pem", *usage)
    certificate(folder, "server", "IP:127.0.0.1", "authority")
    chain = folder / "server.pem"
    chain.write_bytes((folder / "authority.pem").read_bytes() + chain.read_bytes())
    assert refused(folder) == (
        f"fleetpass: listen.tls.certificate: in {chain}, the server's own certificate must stand first, and those that "
        f"signed it behind; the key {folder / 'server-key.pem'} fits the one at place 2.")


@pytest.mark.parametrize("names", [["server"], ["server", "authority"]], ids=["alone", "with a chain"])
def test_a_key_of_another_certificate_is_not_taken_for_one_in_the_wrong_place(folder, certificates, names):
    (folder / "server.pem").write_bytes(b"".join((folder / f"{name}.pem").read_bytes() for name in names))
    shutil.copy(folder / "unlisted-key.pem", folder / "server-key.pem")
    assert refused(folder).endswith("both must be PEM files of one pair.")


def test_an_authority_needs_those_above_it_up_to_the_root(folder, certificates):
    certificate(folder, "issuing", "DNS:issuing", "authority")
    pair = certificate(folder, "newcomer", "URI:spiffe://acme/dispatch", "issuing")
    root = (folder / "authority.pem").read_text(encoding="utf-8")
    shutil.copy(folder / "issuing.pem", folder / "authority.pem")
    (folder / "tokens.yaml").write_text(
        BASE + "listen: {tls: {certificate: server.pem, key: server-key.pem, client_ca: authority.pem}}\n"
        "callers: {certificate: {dispatch: {uri: 'spiffe://acme/dispatch'}}}\n", encoding="utf-8")
    result = run("serve", "tokens", "--config", folder / "tokens.yaml")
    assert result.returncode == 78
    assert "CN=issuing is signed by CN=authority, which is not in the file" in result.stderr.decode()
    with (folder / "authority.pem").open("a", encoding="utf-8") as authorities:
        authorities.write(root)
    server = start(folder, "required")
    assert get(server, folder, pair=pair).status_code == 200
    assert server.stop()[0] == 0


@pytest.mark.parametrize(("peers", "status"), [("127.0.0.0/8", 200), ("192.0.2.1", 401)])
def test_a_proxy_names_users_from_its_own_address_only(folder, peers, status):
    (folder / "policy.yaml").write_text(
        "version: 1\nrules:\n  - {name: shift, when: {issuer: edge, claims: {groups: drivers}}, grant: driver, "
        "for: any}\n", encoding="utf-8")
    server = TokenServer(
        folder,
        f"callers: {{proxy: {{edge: {{peers: {peers}, subject_header: X-User, claim_headers: X-Groups=groups}}}}}}\n"
        "policy: {file: policy.yaml}\n", base=BASE)

    def ask(**headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return requests.get(server.http + "/token/driver/veh-1", headers=headers, timeout=10).status_code

    assert ask(X_User="dora", X_Groups="drivers, staff") == status
    assert ask(X_User="dora", X_Groups="guests") == (403 if status == 200 else 401)
    assert ask(X_Groups="drivers") == 401
    assert server.stop()[0] == 0


def test_a_forged_header_of_a_proxy_is_refused_beside_a_good_credential(folder):
    name_caller(folder)
    server = TokenServer(
        folder,
        "callers: {file: callers.json, proxy: {edge: {peers: 192.0.2.1, subject_header: X-User, "
        "claim_headers: X-Groups=groups}}}\n", base=BASE)

    def ask(**headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers["Authorization"] = f"Bearer {SECRET}"
        return requests.get(server.http + "/token/driver/veh-1", headers=headers, timeout=10).status_code

    assert ask() == 200
    assert ask(X_User="dora") == 401
    assert ask(X_Groups="drivers") == 401
    assert server.stop()[0] == 0


@pytest.mark.parametrize("is_secure", [True, False])
def test_connections_that_come_while_the_server_ends_do_not_bring_it_down(folder, certificates, slow_webhook, is_secure):
    handler, url = slow_webhook
    server = slow_start(folder, url, "drain: 25s", **({} if is_secure else {"listen": ""}))
    context = ssl.create_default_context(cafile=folder / "server.pem")

    def connect():
        while True:
            try:
                with socket.create_connection(address(server), timeout=20) as client:
                    if is_secure:
                        context.wrap_socket(client, server_hostname="127.0.0.1").close()
            except ConnectionRefusedError:
                return
            except OSError:
                continue

    with socket.create_connection(address(server), timeout=20) as plain:
        client = context.wrap_socket(plain, server_hostname="127.0.0.1") if is_secure else plain
        client.sendall(ASKING)
        assert handler.asked.wait(20), "the server did not ask the webhook"
        threads = [threading.Thread(target=connect) for _ in range(4)]
        for thread in threads:
            thread.start()
        server.process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        handler.release.set()
        received = b""
        while data := client.recv(65536):
            received += data
    assert server.process.wait(timeout=20) == 0
    assert received.startswith(b"HTTP/1.1 ")
