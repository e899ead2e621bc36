# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Requests that no client library sends: each is answered with 400 or its like, and the service lives on."""

import socket
from urllib.parse import urlsplit

import pytest
import requests

from service import refusal

BAD_BODIES = {
    "not JSON": b"{bad",
    "cut off": b'{"vehicleState":"ONL',
    "a list": b"[]",
    "a number": b"7",
    "deep": b'{"attributes":' + b"[" * 45_000,
    "deep and closed": b"[" * 20_000 + b"]" * 20_000,
    "not UTF-8": b'{"vehicleState":"\xff"}',
    "unknown field": b'{"colour":"red"}',
    "unknown enum": b'{"vehicleState":"FLYING"}',
    "number out of range": b'{"maximumCapacity":1e300}',
    "number of a wrong type": b'{"maximumCapacity":"four"}',
    "latitude out of range": b'{"lastLocation":{"location":{"latitude":91,"longitude":0}}}',
    "latitude of NaN": b'{"lastLocation":{"location":{"latitude":"NaN","longitude":0}}}',
    "negative capacity": b'{"maximumCapacity":-1}',
    "time out of range": b'{"lastLocation":{"location":{"latitude":1,"longitude":1},"updateTime":"99999-01-01T00:00:00Z"}}',
    "time of words": b'{"lastLocation":{"location":{"latitude":1,"longitude":1},"updateTime":"yesterday"}}',
    "duplicate attributes": b'{"attributes":[{"key":"a","value":"1"},{"key":"a","value":"2"}]}',
}
MASK = "vehicleState,maximumCapacity,lastLocation,attributes"


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
def test_a_bad_body_is_an_invalid_argument(service, server_token, vehicle, body):
    answer = service.rest(
        "PUT", f"vehicles/{vehicle}?updateMask={MASK}", server_token, data=body,
        headers={"Content-Type": "application/json"},
    )
    assert (answer.status_code, refusal(answer)[0]) == (400, "INVALID_ARGUMENT"), answer.text
    assert service.rest("GET", f"vehicles/{vehicle}", server_token).json()["maximumCapacity"] == 4


def test_a_body_of_many_megabytes_is_refused(service, server_token, vehicle):
    try:
        answer = service.rest("PUT", f"vehicles/{vehicle}?updateMask=attributes", server_token, data=b" " * 20_000_000)
        assert answer.status_code in (400, 413)
    except requests.ConnectionError:
        pass  # The server may hang up instead of reading on.
    assert service.rest("GET", f"vehicles/{vehicle}", server_token).status_code == 200


@pytest.mark.parametrize(
    "query",
    ["", "updateMask=", "updateMask=*", "updateMask=no_such_field", "updateMask=name", "updateMask=vehicleState&x=1",
     "updateMask=" + "a," * 5000, "updateMask=%ff", "updateMask=attributes[0]"],
    ids=lambda query: query[:30] or "none",
)
def test_a_bad_mask_is_an_invalid_argument(service, server_token, vehicle, query):
    answer = service.rest("PUT", f"vehicles/{vehicle}?{query}", server_token, json={"vehicleState": "ONLINE"})
    assert (answer.status_code, refusal(answer)[0]) == (400, "INVALID_ARGUMENT"), answer.text


@pytest.mark.parametrize("vehicle_id", ["", "%2A", "a%2Fb", "a:b", "a%00b", "a" * 65, "..", "%ff", "a%3Fb", "%0A"])
def test_no_vehicle_gets_a_bad_id(service, server_token, vehicle_id):
    answer = service.rest(
        "POST", f"vehicles?vehicleId={vehicle_id}", server_token,
        json={"vehicleState": "ONLINE", "supportedTripTypes": ["SHARED"], "maximumCapacity": 1,
              "vehicleType": {"category": "AUTO"}},
    )
    assert (answer.status_code, refusal(answer)[0]) == (400, "INVALID_ARGUMENT"), answer.text


def exchange(service, request):
    """Sends bytes as they are, and gives the first line of the answer."""
    address = urlsplit(service.http)
    with socket.create_connection((address.hostname, address.port), timeout=3) as connection:
        connection.sendall(request)
        try:
            return connection.recv(4096).split(b"\r\n", 1)[0]
        except ConnectionResetError:
            return b""


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,
        b"GET /\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"\r\n" * 10_000,
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
        b"POST /v1/providers/p/vehicles HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/providers/p/vehicles HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
    ids=["TLS", "no version", "odd version", "empty lines", "long path", "many headers", "negative length", "bad chunk",
         "dots", "encoded dots"],
)
def test_broken_http_does_no_harm(service, request_bytes):
    try:
        first_line = exchange(service, request_bytes)
    except (BrokenPipeError, ConnectionResetError, TimeoutError):
        first_line = b""
    assert not first_line.startswith(b"HTTP/1.1 200") or b"healthz" in request_bytes
    assert requests.get(f"{service.http}/healthz", timeout=10).status_code == 200


@pytest.mark.parametrize("chunk", [b"ZZ\r\n", b"-1\r\n", b"2\r\n{}x\r\n"], ids=["no size", "negative", "too much"])
def test_a_body_in_broken_chunks_is_a_bad_request_and_not_too_long(service, server_token, chunk):
    request = (
        f"POST /v1/providers/{service.provider}/vehicles?vehicleId=v HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {server_token}\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + chunk)
    assert exchange(service, request).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("hosts", [b"", b"Host: localhost\r\nHost: attacker.example\r\n"], ids=["none", "two"])
def test_a_request_that_does_not_name_one_host_is_refused(service, hosts):
    assert exchange(service, b"GET /healthz HTTP/1.1\r\n" + hosts + b"\r\n").startswith(b"HTTP/1.1 400 ")


def test_the_host_that_a_whole_address_names_counts_and_not_the_one_beside_it(service):
    for name, answer in [(b"attacker.example", b"421"), (b"localhost", b"200")]:
        request = b"GET http://" + name + b"/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        assert exchange(service, request).startswith(b"HTTP/1.1 " + answer)


def test_a_page_elsewhere_cannot_reach_the_service_by_a_name_of_its_own(service):
    answer = requests.get(f"{service.http}/token/driver/v", headers={"Host": "attacker.example"}, timeout=10)
    assert answer.status_code == 421
    assert "jwt" not in answer.text


def test_broken_grpc_does_no_harm(service, server_token, vehicle):
    host, port = service.grpc.split(":")
    for noise in (b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 5000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 5000):
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(noise)
    assert service.rest("GET", f"vehicles/{vehicle}", server_token).status_code == 200
