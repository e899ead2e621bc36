# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Compressed bodies over REST, by Python's own gzip and requests."""

import gzip
import json

from clients import vehicle_body


def test_a_list_comes_compressed_and_says_the_same(service, server_token, new_id):
    for _ in range(12):
        answer = service.rest("POST", f"vehicles?vehicleId={new_id('zip')}", server_token, json=vehicle_body())
        assert answer.status_code == 200, answer.text
    reader = service.mint("fleet_reader")
    plain = service.rest("GET", "vehicles", reader, headers={"Accept-Encoding": "identity"})
    packed = service.rest("GET", "vehicles", reader, headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Vary"] == "Accept-Encoding"
    # Times of arrival move on between the two.
    names = [vehicle["name"] for vehicle in plain.json()["vehicles"]]
    assert [vehicle["name"] for vehicle in packed.json()["vehicles"]] == names
    assert int(packed.headers["Content-Length"]) < len(plain.content) / 2


def test_a_compressed_body_is_read(service, server_token, new_id):
    body = gzip.compress(json.dumps(vehicle_body()).encode())
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    answer = service.rest("POST", f"vehicles?vehicleId={new_id('zip')}", server_token, data=body, headers=headers)
    assert answer.status_code == 200, answer.text


def test_a_bomb_is_refused(service, server_token, new_id):
    body = gzip.compress(b" " * 50_000_000)
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    answer = service.rest("POST", f"vehicles?vehicleId={new_id('zip')}", server_token, data=body, headers=headers)
    assert answer.status_code == 413, answer.text


def test_another_coding_is_refused_by_name(service, server_token, new_id):
    headers = {"Content-Encoding": "br", "Content-Type": "application/json"}
    answer = service.rest("POST", f"vehicles?vehicleId={new_id('zip')}", server_token, data=b"{}", headers=headers)
    assert answer.status_code == 400
    assert '\\"br\\"' in answer.text
