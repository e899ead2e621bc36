# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""`serve engine` from its configuration file: whom it trusts, TLS and client certificates on both ports, its end."""

import hashlib
import queue
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import time

import grpc
import hpack
import httpx
import pytest
import requests
from google.api_core import exceptions
from google.maps import fleetengine_v1 as fleet
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from hyperframe.frame import DataFrame, Frame, HeadersFrame, RstStreamFrame, SettingsFrame, WindowUpdateFrame

from clients import vehicle_body, vehicle_message
from engine_server import EngineServer, certificate, trust_file
from service import refusal, run
from test_revocations import ListServer

TLS = "listen: {tls: {certificate: server.pem, key: server-key.pem}}\n"


@pytest.fixture
def folder(tmp_path, service):
    shutil.copytree(service.data / "service-accounts", tmp_path / "keys")
    trust_file(tmp_path, "keys")
    return tmp_path


@pytest.fixture
def certificates(folder):
    certificate(folder, "authority", "DNS:authority")
    return {
        "server": certificate(folder, "server", "IP:127.0.0.1"),
        "backend": certificate(folder, "backend", "DNS:backend", "authority"),
        "forged": certificate(folder, "forged", "DNS:backend"),
    }


def mint(folder, role, **ids):
    options = [text for name, value in ids.items() for text in (f"--{name}", value)]
    result = run("mint", "--key", folder / "keys" / f"{role}.json", "--role", role, *options)
    assert result.returncode == 0, result.stderr
    return result.stdout.decode().strip()


def test_the_vendors_client_calls_it_over_tls(folder, certificates):
    server = EngineServer(folder, TLS)
    assert server.http.startswith("https://")
    token, authority = mint(folder, "server"), str(folder / "server.pem")
    vehicles = server.vehicles(token)
    made = vehicles.create_vehicle(request={
        "parent": "providers/demo-fleet", "vehicle_id": "veh-1", "vehicle": vehicle_message(server, "veh-1")})
    assert made.name == "providers/demo-fleet/vehicles/veh-1"
    answer = server.rest("GET", "vehicles/veh-1", token, verify=authority)
    assert answer.status_code == 200 and answer.json()["vehicleState"] == "ONLINE"
    with httpx.Client(http2=True, verify=ssl.create_default_context(cafile=authority)) as client:
        answer = client.get(
            f"{server.http}/v1/providers/demo-fleet/vehicles/veh-1", headers={"Authorization": f"Bearer {token}"})
        assert (answer.status_code, answer.http_version) == (200, "HTTP/2")
    end = re.search(
        r"^fleetpass_certificate_expiry_timestamp_seconds (\d+)$", server.get("/metrics", verify=authority).text, re.M)
    assert int(end[1]) > time.time()
    # A driver's token reaches its own vehicle only, and nobody goes without.
    driver = mint(folder, "driver", vehicle="veh-1")
    assert server.rest("GET", "vehicles/veh-1", driver, verify=authority).status_code == 200
    assert server.rest("GET", "vehicles/veh-2", driver, verify=authority).status_code == 403
    assert refusal(server.rest("GET", "vehicles/veh-1", verify=authority))[0] == "UNAUTHENTICATED"
    with pytest.raises(exceptions.Unauthenticated):
        server.vehicles("no-token").get_vehicle(request={"name": made.name})
    # An account that no trust file names is nobody, whatever its role.
    stranger = run("mint", "--key", folder / "keys" / "fleet_reader.json", "--role", "fleet_reader").stdout.decode().strip()
    assert refusal(server.rest("GET", "vehicles/veh-1", stranger, verify=authority)) == (
        "UNAUTHENTICATED", "KEY_UNKNOWN")
    with pytest.raises(requests.exceptions.ConnectionError):
        requests.get(server.http.replace("https", "http") + "/healthz", timeout=10)
    code, output, errors = server.stop()
    assert (code, output) == (0, ""), errors


def test_pages_of_a_listed_origin_may_call(folder):
    server = EngineServer(folder, "cors: {origins: 'https://app.example'}\n")
    token, origin = mint(folder, "server"), {"Origin": "https://app.example"}
    url = f"{server.http}/v1/providers/demo-fleet/vehicles/veh-1"
    asked = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}
    preflight = requests.options(url, headers={**origin, **asked}, timeout=10)
    assert preflight.status_code == 204 and preflight.headers["Access-Control-Allow-Headers"] == "authorization"
    for headers, status in (({"Authorization": f"Bearer {token}"}, 404), ({}, 401)):
        answer = requests.get(url, headers={**origin, **headers}, timeout=10)
        assert (answer.status_code, answer.headers["Access-Control-Allow-Origin"]) == (status, "https://app.example")
    assert requests.options(url, headers={**asked, "Origin": "https://evil.example"}, timeout=10).status_code == 403
    for path in ("/readyz", "/metrics"):
        assert "Access-Control-Allow-Origin" not in requests.get(server.http + path, headers=origin, timeout=10).headers
    assert server.stop()[0] == 0


def test_what_was_answered_is_there_after_a_restart(folder):
    token = mint(folder, "server")
    server = EngineServer(folder)
    assert server.rest("POST", "vehicles?vehicleId=veh-1", token, json=vehicle_body()).status_code == 200
    assert server.stop()[0] == 0
    server = EngineServer(folder)
    assert server.rest("GET", "vehicles/veh-1", token).status_code == 200
    assert server.stop()[0] == 0


@pytest.mark.parametrize("demand", ["optional", "required"])
def test_client_certificates_open_both_ports(folder, certificates, demand):
    server = EngineServer(
        folder, f"listen: {{tls: {{certificate: server.pem, key: server-key.pem, client_ca: authority.pem, "
        f"client_certificate: {demand}}}}}\n")
    token, authority = mint(folder, "server"), str(folder / "server.pem")

    def over_rest(pair):
        return server.rest("GET", "vehicles", token, verify=authority, cert=pair).status_code

    def over_grpc(pair):
        return list(server.vehicles(token, pair).list_vehicles(
            request={"parent": "providers/demo-fleet"}, timeout=10, retry=None))

    assert over_rest(certificates["backend"]) == 200
    assert over_grpc(certificates["backend"]) == []
    with pytest.raises(requests.exceptions.ConnectionError):
        over_rest(certificates["forged"])
    with pytest.raises(exceptions.ServiceUnavailable):
        over_grpc(certificates["forged"])
    if demand == "optional":
        assert over_rest(None) == 200
        assert over_grpc(None) == []
    else:
        with pytest.raises(requests.exceptions.ConnectionError):
            over_rest(None)
        with pytest.raises(exceptions.ServiceUnavailable):
            over_grpc(None)
    assert server.stop()[0] == 0


def test_both_ports_take_a_new_certificate_without_a_restart(folder, certificates):
    server = EngineServer(folder, TLS)
    ports = [server.http_port, server.grpc_port]
    first = [ssl.get_server_certificate(("127.0.0.1", port)) for port in ports]
    assert first[0] == first[1]
    for path in certificate(folder, "next", "IP:127.0.0.1"):
        (folder / path.replace("next", "server")).write_bytes((folder / path).read_bytes())
    deadline = time.monotonic() + 20
    for port in ports:
        while ssl.get_server_certificate(("127.0.0.1", port)) == first[0]:
            assert time.monotonic() < deadline
            time.sleep(0.2)
    assert list(server.vehicles(mint(folder, "server")).list_vehicles(
        request={"parent": "providers/demo-fleet"}, timeout=10)) == []
    assert server.stop()[0] == 0


def test_supervisors_and_prometheus_are_told(folder):
    server = EngineServer(folder)
    token = mint(folder, "server")
    deadline = time.monotonic() + 20
    while server.get("/readyz").status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert server.get("/healthz").status_code == 200
    assert server.rest("GET", "vehicles", token).status_code == 200
    assert server.rest("GET", "vehicles").status_code == 401
    lines = server.get("/metrics").text.splitlines()
    assert 'fleetpass_engine_calls_total{method="ListVehicles",code="OK"} 1' in lines
    assert 'fleetpass_engine_calls_total{method="ListVehicles",code="UNAUTHENTICATED"} 1' in lines
    assert 'fleetpass_ready{check="trust"} 1' in lines
    assert sum(line.startswith('fleetpass_build_info{version="') for line in lines) == 1
    assert any(line.startswith('fleetpass_connections{port="http"} ') for line in lines)
    assert any(line.startswith("fleetpass_trusted_keys_age_seconds ") for line in lines)
    for line in lines:
        assert re.match(r'^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [0-9.e+-]+)$', line), line
    assert token not in server.stop()[2]


def test_an_account_without_keys_is_told_and_the_others_served(folder):
    trust = (folder / "trust.yaml").read_text(encoding="utf-8")
    (folder / "trust.yaml").write_text(
        trust + "  - {email: gone@demo-fleet.iam.gserviceaccount.com, roles: server, "
        "keys: 'http://127.0.0.1:9/keys'}\n", encoding="utf-8")
    server = EngineServer(folder)
    assert server.rest("GET", "vehicles", mint(folder, "server")).status_code == 200
    answer = server.get("/readyz")
    assert answer.status_code == 503 and "trust: no keys of gone@demo-fleet" in answer.text
    lines = []
    for line in server.process.stderr:
        lines.append(line)
        if "readiness changed" in line:
            break
    assert "trust" in lines[-1] and "gone@demo-fleet" in lines[-1]
    # A fetch that fails again and again is told once.
    assert sum("the keys of gone@demo-fleet" in line for line in lines) == 1
    assert server.stop()[0] == 0


def test_the_page_is_shown_to_those_who_may_see_it(folder):
    server = EngineServer(folder, "page: {visible_to: this_machine}\n")
    assert server.get("/").status_code == 200
    assert server.get("/page/state").status_code == 200
    # Not by another name, and not through a proxy.
    assert server.get("/page/state", headers={"Host": "rebound.example"}).status_code == 404
    assert server.get("/page/state", headers={"X-Forwarded-For": "192.0.2.1"}).status_code == 404
    assert server.get("/healthz", headers={"Host": "engine.example"}).status_code == 200
    assert server.stop()[0] == 0
    for visible, status in [(None, 404), ("nobody", 404), ("192.0.2.0/24", 404), ("127.0.0.0/8", 200)]:
        server = EngineServer(folder, f"page: {{visible_to: {visible}}}\n" if visible else "")
        assert server.get("/").status_code == status, visible
        # However this machine is named, a proxy on it and a name that was made to point at it are not this machine.
        for headers in [{"Host": "rebound.example"}, {"X-Forwarded-For": "192.0.2.1"}]:
            assert server.get("/page/state", headers=headers).status_code == 404, visible
        assert server.stop()[0] == 0


def test_a_client_that_says_nothing_keeps_no_server(folder):
    server = EngineServer(folder, "limits: {drain: 1s}\n")
    # A connection of HTTP/2 with empty settings, whose client answers no question.
    with socket.create_connection(("127.0.0.1", server.grpc_port), timeout=20) as client:
        client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
        assert client.recv(9)
        told = time.monotonic()
        code, _, errors = server.stop()
    assert code == 0, errors
    # Those who are not told to end are ended 5 s later.
    assert time.monotonic() - told < 5
    assert "error" not in errors, errors


def test_a_tool_that_keeps_reflection_open_keeps_no_server(folder):
    server = EngineServer(folder)
    asked = queue.SimpleQueue()
    with grpc.insecure_channel(server.grpc) as channel:
        question = reflection_pb2.ServerReflectionRequest(list_services="")
        asked.put(question)
        answers = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(iter(asked.get, None), timeout=30)
        assert next(answers).list_services_response.service
        told = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert list(answers) == []
        asked.put(None)
    assert server.process.wait(timeout=12) == 0
    # Calls that go on are cut off after 10 s.
    assert time.monotonic() - told < 8


def long_vehicles(server, token, count, **options):
    """Makes vehicles of which the list is some 700 kB long for each."""
    for number in range(count):
        path = f"vehicles?vehicleId=veh-{number}"
        assert server.rest("POST", path, token, json=vehicle_body(), **options).status_code == 200
        answer = server.rest(
            "PUT", f"vehicles/veh-{number}?updateMask=currentRouteSegment", token,
            json={"currentRouteSegment": "_p~iF~ps|U_ulLnnqC" * 40_000}, **options)
        assert answer.status_code == 200


@pytest.mark.parametrize("end", ["the server's", "the client's"])
def test_a_long_answer_reaches_a_slow_reader_whole_though_the_connection_is_to_end(folder, end):
    server = EngineServer(folder)
    token = mint(folder, "server")
    long_vehicles(server, token, 12)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", server.http_port))
        client.settimeout(20)
        client.sendall((
            "GET /v1/providers/demo-fleet/vehicles HTTP/1.1\r\nHost: engine\r\n"
            f"Authorization: Bearer {token}\r\n\r\n").encode())
        received = client.recv(1024)
        # More than what waits in the sockets is read when the end was dealt with.
        if end == "the server's":
            server.process.send_signal(signal.SIGTERM)
            with pytest.raises(subprocess.TimeoutExpired):
                server.process.wait(timeout=3)
        else:
            client.shutdown(socket.SHUT_WR)
            for _ in range(20):
                assert server.get("/healthz").status_code == 200
        while data := client.recv(65536):
            received += data
    head, _, body = received.partition(b"\r\n\r\n")
    assert len(body) == int(re.search(rb"(?i)content-length: (\d+)", head)[1]) > 2_500_000
    assert (server.process.wait(timeout=12) if end == "the server's" else server.stop()[0]) == 0


class Frames:
    """A client of HTTP/2 that reads when it is told to, and says how much it has read."""

    def __init__(self, connection, window):
        self.connection = connection
        self.rest, self.received, self.heads, self.resets, self.has_ended = b"", b"", {}, 0, False
        self.decoder = hpack.Decoder()
        settings = SettingsFrame(0, {SettingsFrame.INITIAL_WINDOW_SIZE: window})
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.send(settings, WindowUpdateFrame(0, 1 << 30))

    def send(self, *frames):
        self.connection.sendall(b"".join(frame.serialize() for frame in frames))

    def ask(self, token, over):
        fields = [(":authority", "engine"), ("authorization", f"Bearer {token}")]
        if over == "gRPC":
            request = fleet.ListVehiclesRequest(parent="providers/demo-fleet")
            message = fleet.ListVehiclesRequest.serialize(request)
            path = "/maps.fleetengine.v1.VehicleService/ListVehicles"
            fields += [("te", "trailers"), ("content-type", "application/grpc")]
            body = [DataFrame(1, b"\0" + struct.pack(">I", len(message)) + message, flags=["END_STREAM"])]
        else:
            path, body = "/v1/providers/demo-fleet/vehicles", []
        fields = [(":method", "POST" if body else "GET"), (":scheme", "https"), (":path", path), *fields]
        flags = ["END_HEADERS"] if body else ["END_HEADERS", "END_STREAM"]
        self.send(HeadersFrame(1, hpack.Encoder().encode(fields), flags=flags), *body)

    def read(self):
        """Reads what is there, if not the connection's end."""
        data = self.connection.recv(65536)
        self.rest += data
        while len(self.rest) >= 9:
            frame, length = Frame.parse_frame_header(memoryview(self.rest[:9]))
            if len(self.rest) < 9 + length:
                break
            frame.parse_body(memoryview(self.rest[9 : 9 + length]))
            self.rest = self.rest[9 + length :]
            if isinstance(frame, DataFrame):
                self.received += frame.data
            elif isinstance(frame, HeadersFrame):
                self.heads |= dict(self.decoder.decode(frame.data))
            self.resets += isinstance(frame, RstStreamFrame)
            self.has_ended = self.has_ended or "END_STREAM" in frame.flags
        return data


@pytest.mark.parametrize("over", ["gRPC", "gRPC with TLS", "REST"])
def test_a_reader_that_is_behind_when_the_server_ends_gets_all_of_its_answer(folder, certificates, over):
    server = EngineServer(folder, "" if over == "gRPC" else TLS)
    token = mint(folder, "server")
    # Less than the sockets take in at once.
    long_vehicles(server, token, 2, verify=str(folder / "server.pem"))
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.connect(("127.0.0.1", server.http_port if over == "REST" else server.grpc_port))
        connection.settimeout(20)
        if over != "gRPC":
            context = ssl.create_default_context(cafile=folder / "server.pem")
            context.set_alpn_protocols(["h2"])
            connection = context.wrap_socket(connection, server_hostname="127.0.0.1")
        client = Frames(connection, 1 << 30)
        client.ask(token, over.split()[0])
        while not client.received:
            assert client.read()
        server.process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            server.process.wait(timeout=3)
        while not client.has_ended:
            client.send(WindowUpdateFrame(0, 1))
            assert client.read(), len(client.received)
        length = client.heads["content-length"] if over == "REST" else 5 + int.from_bytes(client.received[1:5], "big")
        assert len(client.received) == int(length) > 1_000_000
        connection.close()
    assert server.process.wait(timeout=12) == 0


def test_a_call_of_whose_long_answer_nothing_is_taken_ends_at_the_limit(folder):
    server = EngineServer(folder, "limits: {request: 1s}\n")
    token = mint(folder, "server")
    long_vehicles(server, token, 1)
    with socket.create_connection(("127.0.0.1", server.grpc_port), timeout=20) as connection:
        client = Frames(connection, 0)
        client.ask(token, "gRPC")
        asked = time.monotonic()
        while not client.resets:
            assert client.read()
        assert time.monotonic() - asked < 10
        assert not client.received
    assert server.stop()[0] == 0


def test_readers_of_the_page_do_not_hold_up_the_end(folder):
    server = EngineServer(folder, "page: {visible_to: this_machine}\nlimits: {drain: 40s}\n")
    with requests.get(f"{server.http}/page/events", stream=True, timeout=60) as events:
        assert next(events.iter_lines())
        told = time.monotonic()
        code, _, errors = server.stop()
        assert code == 0, errors
        assert time.monotonic() - told < 20


def test_the_strict_profile_warns_and_its_findings_are_for_those_who_may_see_the_page(folder):
    driver, place = mint(folder, "driver", vehicle="veh-1"), {"location": {"latitude": 37.4, "longitude": -122.1}}
    for settings, is_strict, is_visible in [
        ("", False, False), ("profile: strict\n", True, False), ("page: {visible_to: this_machine}\n", False, True),
    ]:
        server = EngineServer(folder, settings)
        server.rest("POST", "vehicles?vehicleId=veh-1", mint(folder, "server"), json=vehicle_body())
        answer = server.rest(
            "PUT", "vehicles/veh-1?updateMask=lastLocation", driver, json={"lastLocation": place | {"speedKmph": 30}})
        assert answer.status_code == 200, answer.text
        assert ("deprecated-field: " in answer.headers.get("x-fleetpass-warning", "")) == is_strict
        assert server.get("/deviations").status_code == (200 if is_visible else 404)
        assert server.get("/deviations", headers={"X-Forwarded-For": "192.0.2.1"}).status_code == 404
        found = run("lint", "--engine", server.http)
        assert found.returncode == (1 if is_visible else 69)
        assert (b"deprecated-field   1 time" if is_visible else b"page.visible_to") in found.stdout + found.stderr
        assert server.stop()[0] == 0


def test_accounts_are_trusted_by_what_their_token_server_publishes(folder, service):
    roles, accounts = ["driver", "consumer"], ""
    for role in roles:
        email = service.account(role)["client_email"]
        keys = f"{service.http}/.well-known/jwks/{email}"
        accounts += f"  - {{email: {email}, roles: {role}, keys: '{keys}'}}\n"
    (folder / "trust.yaml").write_text(f"version: 1\naccounts:\n{accounts}", encoding="utf-8")
    server = EngineServer(folder)
    for role, collection, name in [("driver", "vehicles", "veh-nobody"), ("consumer", "trips", "trip-nobody")]:
        token = requests.get(f"{service.http}/token/{role}/{name}", timeout=10).json()["jwt"]
        # A token that is not accepted gets 401, and one for something else 403.
        assert server.rest("GET", f"{collection}/{name}", token).status_code == 404
    assert server.stop()[0] == 0


def test_what_a_token_servers_store_withdraws_is_refused(folder, service):
    token = requests.get(f"{service.http}/token/driver/veh-withdrawn", timeout=10).json()["jwt"]
    server = EngineServer(folder, f"revocations: {{store: '{service.data}/token-server.sqlite'}}\n")
    assert server.rest("GET", "vehicles/veh-withdrawn", token).status_code == 404
    fingerprint = hashlib.sha256(token.encode()).hexdigest()[:16]
    assert run("revoke", "--data", service.data, "--fingerprint", fingerprint).returncode == 0
    deadline = time.monotonic() + 5
    while server.rest("GET", "vehicles/veh-withdrawn", token).status_code != 401:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert refusal(server.rest("GET", "vehicles/veh-withdrawn", token)) == ("UNAUTHENTICATED", "TOKEN_REVOKED")
    assert server.get("/readyz").status_code == 200
    assert server.stop()[0] == 0


def test_what_a_list_withdraws_is_refused_from_the_first_call_on(folder, service):
    token = requests.get(f"{service.http}/token/driver/veh-listed", timeout=10).json()["jwt"]
    lists = ListServer()
    lists.text = lists.sign([service.account("driver")["private_key_id"]])
    # An engine that did not wait for it would answer long before.
    lists.pause = 1
    server = EngineServer(folder, f"revocations: {{url: '{lists.url}/list'}}\n")
    assert refusal(server.rest("GET", "vehicles/veh-listed", token)) == ("UNAUTHENTICATED", "TOKEN_REVOKED")
    assert server.stop()[0] == 0
    lists.shutdown()


def test_a_list_is_believed_of_whom_the_authorities_in_ssl_cert_file_vouch_for(folder, service, certificates):
    token = requests.get(f"{service.http}/token/driver/veh-listed", timeout=10).json()["jwt"]
    lists = ListServer()
    lists.text = lists.sign([service.account("driver")["private_key_id"]])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(folder, "lists", "IP:127.0.0.1", "authority"))
    lists.socket = context.wrap_socket(lists.socket, server_side=True)
    settings = f"revocations: {{url: '{lists.url.replace('http', 'https')}/list'}}\n"
    # No authority, or one that did not sign.
    for variables in [{}, {"SSL_CERT_FILE": folder / "server.pem"}]:
        server = EngineServer(folder, settings, environment=variables)
        answer = requests.get(f"{server.http}/readyz", timeout=10)
        assert answer.status_code == 503 and "revocations" in answer.text, answer.text
        assert server.stop()[0] == 0
    server = EngineServer(folder, settings, environment={"SSL_CERT_FILE": folder / "authority.pem"})
    assert requests.get(f"{server.http}/readyz", timeout=10).status_code == 200
    assert refusal(server.rest("GET", "vehicles/veh-listed", token)) == ("UNAUTHENTICATED", "TOKEN_REVOKED")
    assert server.stop()[0] == 0
    lists.shutdown()


def test_a_store_that_is_no_token_servers_withdraws_nothing_and_is_refused(folder, service):
    (folder / "data").mkdir()
    (folder / "empty.sqlite").write_bytes(b"")
    for store, word in [("empty.sqlite", "no token server of this version has used that store"),
                        (f"{service.data}/fleetpass.sqlite", "is no store of a token server")]:
        (folder / "engine.yaml").write_text(GOOD + f"revocations: {{store: '{store}'}}\n", encoding="utf-8")
        refused = run("serve", "engine", "--config", folder / "engine.yaml")
        assert refused.returncode == 78 and word in refused.stderr.decode(), refused.stderr
    assert (folder / "empty.sqlite").stat().st_size == 0


@pytest.mark.parametrize(
    "address", ["postgresql:/fleet:s3cret@db.internal/tokens", "hots=db.internal password=s3cret"])
def test_a_malformed_address_of_a_token_servers_store_is_told_without_its_password(folder, address):
    (folder / "data").mkdir()
    (folder / "engine.yaml").write_text(GOOD + f"revocations: {{store: '{address}'}}\n", encoding="utf-8")
    refused = run("serve", "engine", "--config", folder / "engine.yaml")
    assert refused.returncode == 78 and b"is malformed; write postgresql://" in refused.stderr, refused.stderr
    assert b"s3cret" not in refused.stdout + refused.stderr


def test_a_silent_connection_of_http_2_is_closed(folder, certificates):
    server = EngineServer(folder, TLS + "limits: {idle: 1s, request: 1s}\n")
    context = ssl.create_default_context(cafile=str(folder / "server.pem"))
    context.set_alpn_protocols(["h2"])
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
    for greeting in [b"", preface]:
        with socket.create_connection(("127.0.0.1", server.http_port), timeout=20) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
                assert connection.selected_alpn_protocol() == "h2"
                connection.sendall(greeting)
                # It ends though no PING is answered; one that stays open runs into the socket's time limit.
                while connection.recv(1024):
                    pass
    assert server.stop()[0] == 0


GOOD = "providers: demo-fleet\ndata: data\ntrust: {files: trust.yaml}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("providers: demo-fleet\ndata: data\n", "No account is trusted"),
        (GOOD + "listen:\n  prot: 1\n", "Line 5: there is no setting listen.prot"),
        (GOOD + "listen:\n  http_port: many\n", "Line 5: listen.http_port must be a whole number from 0 to 65535"),
        (GOOD + "retention: {trips: soon}\n", "retention.trips must be a time up to 3650d, like 12h or 7d, or never"),
        (GOOD + "listen: {host: 0.0.0.0}\n", "set listen.tls"),
        (GOOD + "router: {osrm: {url: 'ftp://x'}}\n", "router.osrm.url must be written like"),
        (GOOD.replace("trust.yaml", "missing.yaml"), "missing.yaml cannot be read"),
        (GOOD.replace("data: data", "data: elsewhere"), "elsewhere does not exist"),
        (GOOD.replace("demo-fleet", "other-fleet"), "is of the provider demo-fleet, which is not among providers"),
        (GOOD + "listen: {tls: {certificate: none.pem, key: none.pem}}\n", "none.pem is missing or cannot be read"),
        (GOOD + "revocations: {store: gone.sqlite}\n", "gone.sqlite is missing"),
        (
            GOOD + "revocations: {url: 'https://tokens.example/list', keys: trust.yaml}\n",
            "/trust.yaml: The key set has no Ed25519 key",
        ),
        (GOOD + "profile: strictly\n", "profile must be"),
        (GOOD + "page: {visible_to: everybody}\n", "page.visible_to must be nobody, this_machine or addresses"),
    ],
)
def test_it_refuses_to_start_badly(folder, text, message):
    (folder / "data").mkdir()
    config = folder / "engine.yaml"
    config.write_text(text, encoding="utf-8")
    result = run("serve", "engine", "--config", config)
    assert result.returncode == 78
    assert message in result.stderr.decode()
    assert result.stdout == b""


def test_a_configuration_that_is_not_there_is_named(tmp_path):
    result = run("serve", "engine", "--config", tmp_path / "none.yaml")
    assert result.returncode == 78 and "none.yaml cannot be read" in result.stderr.decode()
    assert run("serve", "engine").returncode == 2


def test_a_port_in_use_is_told(folder):
    server = EngineServer(folder)
    other = folder / "other"
    shutil.copytree(folder / "keys", other / "keys")
    trust_file(other, "keys")
    (other / "data").mkdir()
    (other / "engine.yaml").write_text(GOOD, encoding="utf-8")
    result = run(
        "serve", "engine", "--config", other / "engine.yaml",
        environment={"FLEETPASS_LISTEN_HTTP_PORT": str(server.http_port), "FLEETPASS_LISTEN_GRPC_PORT": "0"})
    told = f"port {server.http_port} of 127.0.0.1 is in use; end the other program, or set listen.http_port.\n"
    assert result.returncode == 78 and result.stderr.decode().endswith(told)
    assert server.stop()[0] == 0
