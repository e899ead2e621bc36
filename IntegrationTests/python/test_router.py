# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Ways along the roads: an engine that asks a stand-in for OSRM, which also fails."""

import time

from clients import vehicle_body
from service import Service, run
from stand_ins import DocumentServer

# The line of the polyline below.
BENDS = [(38.5, -120.2), (40.7, -120.95), (43.252, -126.453)]
ANSWER = {"code": "Ok", "routes": [{"distance": 2500.4, "duration": 300.5, "geometry": "_p~iF~ps|U_ulLnnqC_mqNvxq`@"}]}


class Router(DocumentServer):
    """Answers every question with one way, or as it is told."""

    def __init__(self):
        self.paths, self.status, self.delay = [], 200, 0
        super().__init__()

    def answer(self, path):
        self.paths.append(path)
        time.sleep(self.delay)
        return self.status, ANSWER, {}


def move(service, token, latitude):
    location = {"lastLocation": {"location": {"latitude": latitude, "longitude": -122.07}}}
    answer = service.rest("PUT", "vehicles/veh-1?updateMask=lastLocation", token, json=location)
    assert answer.status_code == 200, answer.text


def route(service, token):
    answer = service.rest("GET", "trips/trip-1", token)
    assert answer.status_code == 200, answer.text
    return [(point["latitude"], point["longitude"]) for point in answer.json()["route"]]


def test_trips_follow_the_roads_and_a_router_that_fails_hinders_nobody(tmp_path):
    router = Router()
    service = Service(tmp_path / "data", "--osrm", router.url)
    token = service.mint("server")
    body = vehicle_body() | {"lastLocation": {"location": {"latitude": 37.42, "longitude": -122.07}}}
    assert service.rest("POST", "vehicles?vehicleId=veh-1", token, json=body).status_code == 200
    trip = {"tripType": "EXCLUSIVE", "vehicleId": "veh-1",
            "pickupPoint": {"point": {"latitude": 37.43, "longitude": -122.08}},
            "dropoffPoint": {"point": {"latitude": 37.44, "longitude": -122.09}}}
    assert service.rest("POST", "trips?tripId=trip-1", token, json=trip).status_code == 200
    assert route(service, token) == BENDS
    assert service.rest("GET", "trips/trip-1", token).json()["remainingDistanceMeters"] == 2500
    assert any(path.startswith("/route/v1/driving/-122.0700,37.4200;-122.0800,37.4300?") for path in router.paths)
    # An outage: straight lines, and every call is answered.
    router.status, router.delay = 503, 0.3
    for step in range(5):
        move(service, token, 37.421 + step / 1000)
        assert route(service, token)[-1] == (37.43, -122.08)
    # It comes back, and is asked again without a restart.
    router.status, router.delay = 200, 0
    deadline = time.monotonic() + 60
    while route(service, token) != BENDS:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    code, _, errors = service.stop()
    assert code == 0
    assert errors.count("the router does not answer") == 1, errors
    router.shutdown()


def test_an_address_that_is_none_is_a_configuration_error(tmp_path):
    result = run("up", "--data", tmp_path / "data", "--port", "0", "--grpc-port", "0", "--osrm", "osrm:5000")
    assert result.returncode == 78 and "router's address" in result.stderr.decode()
