# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Faults at the edge: clients that drip, flood or send too much, while others are served all the same."""

import contextlib
import gzip
import re
import shutil
import signal
import socket
import ssl
import time
import zlib
from pathlib import Path

import grpc
import h2.config
import h2.connection
import h2.events
import pytest
import requests
from google.api_core import exceptions

from clients import with_token
from engine_server import EngineServer, certificate, trust_file
from service import refusal, run

LIMITS = "limits: {connections: 100, header_bytes: 4096, idle: 3s, request: 2s}\n"
# Longer than any limit above, with time to spare on a machine that is busy.
PATIENCE = 30


@pytest.fixture(scope="module")
def keys(tmp_path_factory, service):
    folder = tmp_path_factory.mktemp("edge")
    shutil.copytree(service.data / "service-accounts", folder / "keys")
    trust_file(folder, "keys")
    certificate(folder, "server", "IP:127.0.0.1")
    return folder


@pytest.fixture(scope="module")
def token(keys):
    return run("mint", "--key", keys / "keys" / "server.json", "--role", "server").stdout.decode().strip()


@pytest.fixture(scope="module")
def engine(keys):
    server = EngineServer(keys, LIMITS)
    yield server
    assert server.stop()[0] == 0


@pytest.fixture(scope="module")
def secured(keys):
    folder = keys / "secured"
    folder.mkdir()
    trust_file(folder, "../keys")
    for name in ["server.pem", "server-key.pem"]:
        shutil.copy(keys / name, folder)
    server = EngineServer(folder, LIMITS + "listen: {tls: {certificate: server.pem, key: server-key.pem}}\n")
    yield server
    assert server.stop()[0] == 0


def connect(port):
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


def closes(connection):
    """Whether the other end closes, however it does so, within the socket's time limit."""
    with contextlib.suppress(ConnectionError):
        while connection.recv(65536):
            pass
    return True


def drip(connection, piece, pause=0.2):
    """Sends a piece again and again until the other end closes; gives what it sent before."""
    received = b""
    connection.settimeout(pause)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            connection.sendall(piece)
            data = connection.recv(65536)
            if not data:
                return received
            received += data
        except TimeoutError:
            pass
        except OSError:
            return received
    raise AssertionError(f"the connection is still open; received {received!r}")


def still_answers(server, token):
    assert server.get("/healthz").status_code == 200
    assert list(calls(server, token)) == []


def calls(server, token):
    return with_token(server, token).vehicles.list_vehicles(
        request={"parent": "providers/demo-fleet"}, timeout=PATIENCE, retry=None)


def test_a_head_that_trickles_in_ends_its_connection(engine, token):
    with connect(engine.http_port) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ")
        still_answers(engine, token)
        assert b"200" not in drip(slow, b"y")
    still_answers(engine, token)


def test_a_body_that_trickles_in_is_answered_408(engine, token):
    with connect(engine.http_port) as slow:
        slow.sendall(
            b"POST /v1/providers/demo-fleet/vehicles?vehicleId=v HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            b"Content-Length: 1000\r\nAuthorization: Bearer " + token.encode() + b"\r\n\r\n")
        still_answers(engine, token)
        assert drip(slow, b" ").startswith(b"HTTP/1.1 408 ")
    still_answers(engine, token)


def test_a_request_that_is_quick_on_a_kept_connection_is_answered_long_after(engine):
    with requests.Session() as session:
        # Longer than a request may take, and no request of these takes long.
        for _ in range(4):
            assert session.get(f"{engine.http}/healthz", timeout=PATIENCE).status_code == 200
            time.sleep(1)


EXPECTING = (
    b"POST /v1/providers/demo-fleet/vehicles:search HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\n"
    b"Content-Length: 2\r\n")
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def receive(connection, count):
    """That many heads, each with the body that it tells of."""
    received, begin = b"", 0
    for _ in range(count):
        while (end := received.find(b"\r\n\r\n", begin)) < 0:
            received += read(connection)
        length = re.search(rb"(?i)content-length: (\d+)", received[begin:end])
        begin = end + 4 + (int(length[1]) if length else 0)
        while len(received) < begin:
            received += read(connection)
    return received


def read(connection):
    data = connection.recv(65536)
    assert data, "the connection was closed"
    return data


def test_a_client_that_waits_for_leave_gets_it_before_it_sends_the_body(engine, token):
    head = EXPECTING + b"Authorization: Bearer " + token.encode() + b"\r\n\r\n"
    with connect(engine.http_port) as client:
        for _ in range(2):
            client.sendall(head)
            assert receive(client, 1) == CONTINUE
            client.sendall(b"{}")
            assert receive(client, 1).startswith(b"HTTP/1.1 400 ")
        # Behind a request whose answer is not there yet, leave comes after that answer.
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + head)
        received = receive(client, 2)
        assert received.startswith(b"HTTP/1.1 200 ") and received.endswith(b"ok\n" + CONTINUE)
        client.sendall(b"{}")
        assert receive(client, 1).startswith(b"HTTP/1.1 400 ")
    with connect(engine.http_port) as hasty:
        # Who sends the body at once needs no leave.
        hasty.sendall(head + b"{}")
        assert receive(hasty, 1).startswith(b"HTTP/1.1 400 ")
    with connect(engine.http_port) as slow:
        # Leave is no answer: a body that does not come is answered as ever.
        slow.sendall(head)
        assert drip(slow, b"").startswith(CONTINUE + b"HTTP/1.1 408 ")


def test_a_batch_is_not_waited_for_where_its_account_may_make_none(engine, token):
    with connect(engine.http_port) as client:
        client.sendall(
            b"POST /v1/providers/demo-fleet/tasks:batchCreate HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            b"Content-Length: 8000000\r\nAuthorization: Bearer " + token.encode() + b"\r\n\r\n")
        answer = receive(client, 1)
        assert answer.startswith(b"HTTP/1.1 403 ") and b"ROLE_LACKS_PERMISSION" in answer


def test_a_connection_of_http_1_0_ends_with_its_answer_unless_it_is_to_be_kept(service):
    # A server that lets connections be idle for longer than the test waits.
    port = int(service.http.rsplit(":", 1)[1])
    with connect(port) as old:
        old.sendall(b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\n\r\n")
        received = b""
        while data := old.recv(65536):
            received += data
        assert received.startswith(b"HTTP/1.1 200 ") and received.endswith(b"ok\n")
    with connect(port) as reader:
        # Of an answer whose length is not known, the end is the connection's, and nothing stands between its parts.
        reader.sendall(b"GET /page/events HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n\r\n")
        received = b""
        while b"retry: 2000\n\n" not in received:
            received += read(reader)
        head, _, body = received.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.0 200 ") and b"connection: close" in head.lower()
        assert b"transfer-encoding" not in head.lower() and body.startswith(b"retry: 2000\n\n")
    with connect(port) as kept:
        for _ in range(2):
            kept.sendall(b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n\r\n")
            assert receive(kept, 1).startswith(b"HTTP/1.1 200 ")
    with connect(port) as last:
        last.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Close\r\n\r\n")
        assert closes(last)


def test_a_message_that_cannot_be_read_is_refused_for_its_token_first(engine, token):
    codes = grpc.StatusCode
    with grpc.insecure_channel(engine.grpc) as channel:
        call = channel.unary_unary("/maps.fleetengine.v1.VehicleService/GetVehicle")
        for sent, code in [
                (None, codes.UNAUTHENTICATED), ("x", codes.UNAUTHENTICATED), (token, codes.INVALID_ARGUMENT)]:
            metadata = [("authorization", f"Bearer {sent}")] if sent else None
            with pytest.raises(grpc.RpcError) as error:
                call(b"\xff\xff\xff", metadata=metadata, timeout=PATIENCE)
            assert error.value.code() == code


def http2(port, **settings):
    """A raw HTTP/2 connection."""
    connection = connect(port)
    state = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8", **settings))
    state.initiate_connection()
    connection.sendall(state.data_to_send())
    return connection, state


def begin_call(connection, state, *headers):
    state.send_headers(1, [
        (":method", "POST"), (":scheme", "http"), (":path", "/maps.fleetengine.v1.VehicleService/GetVehicle"),
        (":authority", "127.0.0.1"), ("content-type", "application/grpc"), ("te", "trailers"), *headers])
    connection.sendall(state.data_to_send())


def test_a_grpc_message_that_trickles_in_is_answered_with_deadline_exceeded(engine, token):
    connection, state = http2(engine.grpc_port)
    with connection:
        begin_call(connection, state, ("authorization", f"Bearer {token}"))
        status, deadline = None, time.monotonic() + PATIENCE
        connection.settimeout(0.2)
        # The prefix promises 1000 bytes.
        state.send_data(1, b"\x00\x00\x00\x03\xe8")
        while status is None:
            assert time.monotonic() < deadline
            connection.sendall(state.data_to_send())
            try:
                data = connection.recv(65536)
                assert data, "the connection was closed without an answer"
                for event in state.receive_data(data):
                    if isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)):
                        status = dict(event.headers).get("grpc-status", status)
            except TimeoutError:
                state.send_data(1, b"x")
        assert status == "4"
    still_answers(engine, token)


def grpc_status(port, path, data, *headers):
    """The status that a call is answered with, whose DATA are given as they are; a call with `None` has none."""
    connection, state = http2(port)
    connection.settimeout(PATIENCE)
    with connection:
        state.send_headers(1, [
            (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "127.0.0.1"),
            ("content-type", "application/grpc"), ("te", "trailers"), *headers], end_stream=data is None)
        if data is not None:
            state.send_data(1, data, end_stream=True)
        connection.sendall(state.data_to_send())
        while received := connection.recv(65536):
            for event in state.receive_data(received):
                if "grpc-status" in (answer := dict(getattr(event, "headers", []))):
                    return answer["grpc-status"]
            connection.sendall(state.data_to_send())
    return "the connection ended"


GET_VEHICLE = "/maps.fleetengine.v1.VehicleService/GetVehicle"
CHECK = "/grpc.health.v1.Health/Check"
REFLECT = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
UNREADABLE = {
    "gzip, cut off": ("gzip", gzip.compress(b"x")[:-9]),
    "gzip, without its last byte": ("gzip", gzip.compress(b"x")[:-1]),
    "gzip, its head alone": ("gzip", gzip.compress(b"x")[:10]),
    "gzip, none of it": ("gzip", b""),
    "gzip with more behind it": ("gzip", gzip.compress(b"") * 2),
    "deflate, cut off": ("deflate", zlib.compress(b"x")[:-5]),
    "deflate, a byte": ("deflate", b"\x78"),
    "not as it is named": ("deflate", gzip.compress(b"")),
    "not named": (None, gzip.compress(b"")),
}


@pytest.mark.parametrize("encoding, sent", UNREADABLE.values(), ids=UNREADABLE)
def test_a_compressed_message_that_cannot_be_read_is_refused_and_holds_nobody_up(engine, token, encoding, sent):
    data = b"\x01" + len(sent).to_bytes(4, "big") + sent
    headers = [("grpc-encoding", encoding)] if encoding else []
    assert grpc_status(engine.grpc_port, GET_VEHICLE, data, *headers) == "16"
    assert grpc_status(engine.grpc_port, GET_VEHICLE, data, *headers, ("authorization", f"Bearer {token}")) == "3"
    for path in [CHECK, REFLECT]:
        assert grpc_status(engine.grpc_port, path, data, *headers) == "13"
    still_answers(engine, token)
    assert grpc_status(engine.grpc_port, CHECK, bytes(5)) == "0"


def test_a_call_that_is_a_head_alone_is_answered(engine, token):
    assert grpc_status(engine.grpc_port, GET_VEHICLE, None) == "16"
    assert grpc_status(engine.grpc_port, GET_VEHICLE, None, ("authorization", f"Bearer {token}")) == "3"
    assert grpc_status(engine.grpc_port, REFLECT, None) == "0"
    # As the library answers a call to health that has no message.
    assert grpc_status(engine.grpc_port, CHECK, None) == grpc_status(engine.grpc_port, CHECK, b"") != "0"


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"


@pytest.mark.parametrize("sent", [b"", PREFACE[:-1], PREFACE, PREFACE + SETTINGS])
def test_a_connection_of_grpc_on_which_nothing_more_is_said_ends(engine, token, sent):
    with connect(engine.grpc_port) as silent:
        silent.sendall(sent)
        assert closes(silent)
    still_answers(engine, token)


def test_the_head_of_a_first_call_that_trickles_in_ends_its_connection(engine, token):
    with connect(engine.grpc_port) as slow:
        # A frame of the kind HEADERS that says it has 16384 bytes.
        slow.sendall(PREFACE + SETTINGS + b"\x00\x40\x00\x01\x04\x00\x00\x00\x01")
        drip(slow, b"\x88")
    still_answers(engine, token)


def test_a_handshake_that_does_not_end_is_cut_off_on_both_ports(secured, keys):
    for port in [secured.http_port, secured.grpc_port]:
        for sent in [b"", b"\x16\x03\x01\x02\x00"]:
            with connect(port) as silent:
                silent.sendall(sent)
                assert closes(silent)
    assert secured.get("/healthz", verify=str(keys / "server.pem")).status_code == 200
    trust = ssl.create_default_context(cafile=keys / "server.pem")
    # A handshake in time is not cut off when the time for it is over.
    with connect(secured.http_port) as connection, trust.wrap_socket(connection, server_hostname="127.0.0.1") as tls:
        for _ in range(3):
            tls.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            answer = b""
            while not answer.endswith(b"ok\n"):
                answer += tls.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200")
            time.sleep(1)


def test_too_many_headers_and_too_long_ones_are_refused(engine, token):
    for headers in [{"X-Long": "y" * 10_000}, {f"X-{number}": "y" for number in range(200)}]:
        with contextlib.suppress(requests.exceptions.ConnectionError):
            assert engine.get("/healthz", headers=headers).status_code in (400, 431)
    connection, state = http2(engine.grpc_port)
    with connection:
        state.max_outbound_frame_size = 1 << 14
        with contextlib.suppress(ConnectionError):
            begin_call(connection, state, *((f"x-{number}", "y" * 1000) for number in range(60)))
        connection.settimeout(PATIENCE)
        answers = []
        with contextlib.suppress(ConnectionError):
            while data := connection.recv(65536):
                answers += state.receive_data(data)
                if any(isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)) for event in answers):
                    break
        assert not any(
            dict(event.headers).get("grpc-status") == "0" for event in answers
            if isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)))
    still_answers(engine, token)


def test_bodies_that_are_too_long_are_refused(engine, token):
    answer = engine.rest("POST", "vehicles?vehicleId=v", token, data=b" " * 2_000_000)
    assert answer.status_code == 413 and refusal(answer)[1] == "BODY_TOO_LARGE"
    with pytest.raises(exceptions.ResourceExhausted, match="longer than 1048576 bytes; send less at once"):
        with_token(engine, token).vehicles.get_vehicle(
            request={"name": "x" * 2_000_000}, timeout=PATIENCE, retry=None)
    still_answers(engine, token)


def flood(port, count):
    return [connect(port) for _ in range(count)]


def connections(server):
    found = re.findall(r'^fleetpass_connections\{port="(\w+)"\} (\d+)$', server.get("/metrics").text, re.MULTILINE)
    return {port: int(count) for port, count in found}


def test_a_flood_over_the_maximum_leaves_others_their_connections_and_passes(engine, token):
    channel = grpc.insecure_channel(engine.grpc)
    grpc.channel_ready_future(channel).result(timeout=PATIENCE)
    get = channel.unary_unary("/maps.fleetengine.v1.VehicleService/ListVehicles")
    with requests.Session() as session:
        session.get(f"{engine.http}/healthz", timeout=PATIENCE)
        floods = flood(engine.http_port, 250) + flood(engine.grpc_port, 250)
        # Who was there before is served on; port by port there are never more than the maximum.
        for _ in range(10):
            answer = session.get(f"{engine.http}/metrics", timeout=PATIENCE)
            assert answer.status_code == 200
            for count in re.findall(r'^fleetpass_connections\{.*\} (\d+)$', answer.text, re.MULTILINE):
                # The system hands over a few at once.
                assert int(count) <= 110
            with pytest.raises(grpc.RpcError) as error:
                get(b"", timeout=PATIENCE)
            assert error.value.code() == grpc.StatusCode.UNAUTHENTICATED
    # The flood is still there, and new clients get through as its connections run into the limits.
    still_answers(engine, token)
    for connection in floods:
        connection.close()
    channel.close()
    deadline = time.monotonic() + PATIENCE
    while sum(connections(engine).values()) > 10:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    still_answers(engine, token)


@pytest.mark.skipif(
    not Path("/proc/sys/net/core/somaxconn").exists() or int(Path("/proc/sys/net/core/somaxconn").read_text()) < 1024,
    reason="the system lets fewer connections wait")
def test_a_crowd_that_connects_at_once_waits_in_line(keys, token):
    folder = keys / "crowd"
    folder.mkdir()
    trust_file(folder, "../keys")
    server = EngineServer(folder)
    try:
        for port in [server.http_port, server.grpc_port]:
            # As if it were busy with other things; whoever is not let into the line gets no connection.
            server.process.send_signal(signal.SIGSTOP)
            crowd = flood(port, 400)
            server.process.send_signal(signal.SIGCONT)
            for connection in crowd:
                connection.close()
        still_answers(server, token)
    finally:
        server.process.send_signal(signal.SIGCONT)
        server.stop()
