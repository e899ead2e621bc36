# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""What was acknowledged survives: the service is killed under load again and again, and nothing is missing after it."""

import http.client
import json
import random
import sqlite3
import threading
import time
from urllib.parse import urlsplit

import pytest

from clients import vehicle_body
from service import Service

ROUNDS = 20
WRITERS = 8
# Latitudes tell the writes apart: the n-th has n steps.
STEP = 1e-6


class Writer:
    """One vehicle's driver: reports as fast as it can, and notes what was acknowledged."""

    def __init__(self, vehicle, token):
        self.vehicle = vehicle
        self.token = token
        self.sent = 0
        self.acknowledged = 0
        self.refusals = []

    def write(self, service):
        address = urlsplit(service.http)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=10)
        path = f"/v1/providers/{service.provider}/vehicles/{self.vehicle}?updateMask=lastLocation"
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            while True:
                self.sent += 1
                location = {"latitude": self.sent * STEP, "longitude": 0}
                body = json.dumps({"lastLocation": {"location": location}})
                connection.request("PUT", path, body, headers)
                answer = connection.getresponse()
                text = answer.read()
                if answer.status != 200:
                    self.refusals.append((answer.status, text[:300]))
                    return
                self.acknowledged = self.sent
        except (OSError, http.client.HTTPException):
            return  # The service was killed.
        finally:
            connection.close()


@pytest.fixture
def data(tmp_path, service):
    """A folder of its own, with the keys of the session's service, which take long to make."""
    accounts = tmp_path / "data" / "service-accounts"
    accounts.mkdir(parents=True)
    for path in (service.data / "service-accounts").iterdir():
        (accounts / path.name).write_bytes(path.read_bytes())
    return accounts.parent


def stored_count(service, token, vehicle):
    answer = service.rest("GET", f"vehicles/{vehicle}", token)
    assert answer.status_code == 200, answer.text
    return round(answer.json().get("lastLocation", {}).get("location", {}).get("latitude", 0) / STEP)


def test_every_acknowledged_update_survives_kills_under_load(data, service):
    vehicles = [f"vehicle-{number}" for number in range(WRITERS)]
    server_token = service.mint("server")
    writers = [Writer(vehicle, service.mint("driver", vehicle=vehicle)) for vehicle in vehicles]
    pauses = random.Random(20)
    acknowledged_in_rounds = []

    for round_number in range(ROUNDS + 1):
        running = Service(data)
        try:
            if round_number == 0:
                for vehicle in vehicles:
                    answer = running.rest("POST", f"vehicles?vehicleId={vehicle}", server_token, json=vehicle_body())
                    assert answer.status_code == 200, answer.text
            for writer in writers:
                stored = stored_count(running, server_token, writer.vehicle)
                assert writer.acknowledged <= stored <= writer.sent, (
                    f"round {round_number}, {writer.vehicle}: acknowledged {writer.acknowledged}, stored {stored}, "
                    f"sent {writer.sent}"
                )
            if round_number == ROUNDS:
                break
            before = sum(writer.acknowledged for writer in writers)
            threads = [threading.Thread(target=writer.write, args=(running,)) for writer in writers]
            for thread in threads:
                thread.start()
            time.sleep(pauses.uniform(0.1, 0.8))
        finally:
            running.kill()
        for thread in threads:
            thread.join(timeout=30)
            assert not thread.is_alive()
        assert [writer.refusals for writer in writers if writer.refusals] == []
        acknowledged_in_rounds.append(sum(writer.acknowledged for writer in writers) - before)

    assert sum(count > 0 for count in acknowledged_in_rounds) >= ROUNDS // 2, (
        f"too few rounds had load to prove anything: {acknowledged_in_rounds}"
    )
    with sqlite3.connect(data / "fleetpass.sqlite") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_every_acknowledged_update_survives_a_clean_end_under_load(data, service):
    running = Service(data)
    server_token = service.mint("server")
    vehicle = "vehicle-clean"
    assert running.rest("POST", f"vehicles?vehicleId={vehicle}", server_token, json=vehicle_body()).status_code == 200
    writer = Writer(vehicle, service.mint("driver", vehicle=vehicle))
    thread = threading.Thread(target=writer.write, args=(running,))
    thread.start()
    time.sleep(0.5)
    code, _, errors = running.stop()
    thread.join(timeout=30)
    assert code == 0, errors
    assert writer.acknowledged > 0

    running = Service(data)
    try:
        assert writer.acknowledged <= stored_count(running, server_token, vehicle) <= writer.sent
    finally:
        running.stop()
