# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""What a team tests against an engine of its own: ./with-fleet.sh python3 -m pytest test_fleet.py"""

import json
import os
import subprocess
import uuid

import google.auth.jwt
import grpc
import pytest
import requests
from google.api_core import exceptions
from google.maps import fleetengine_v1 as fleet

URL, GRPC, KEYS = (os.environ[name] for name in ("FLEET_URL", "FLEET_GRPC", "FLEET_KEYS"))
PROVIDER = "providers/demo-fleet"


def transport(client, role, claims):
    """The vendor's transport with google-auth's credentials, as in production, but for the address and the missing TLS."""
    return client.get_transport_class("grpc")(
        host=GRPC,
        credentials=google.auth.jwt.Credentials.from_service_account_file(
            f"{KEYS}/{role}.json", audience="https://fleetengine.googleapis.com/", additional_claims={"authorization": claims}),
        # Google's credentials need a channel that counts as secure; on this machine, this one does.
        ssl_channel_credentials=grpc.local_channel_credentials(grpc.LocalConnectionType.LOCAL_TCP))


def vehicles(role, vehicle):
    return fleet.VehicleServiceClient(transport=transport(fleet.VehicleServiceClient, role, {"vehicleid": vehicle}))


def update(vehicle, token):
    """A driver's app goes online."""
    return requests.put(
        f"{URL}/v1/{PROVIDER}/vehicles/{vehicle}?updateMask=vehicleState", json={"vehicleState": "ONLINE"},
        headers={"Authorization": f"Bearer {token}"}, timeout=10)


@pytest.fixture
def vehicle():
    """A vehicle, by the vendor's client."""
    id = f"veh-{uuid.uuid4()}"
    vehicles("server", "*").create_vehicle(fleet.CreateVehicleRequest(parent=PROVIDER, vehicle_id=id, vehicle=fleet.Vehicle(
        vehicle_state=fleet.VehicleState.OFFLINE, supported_trip_types=[fleet.TripType.EXCLUSIVE], maximum_capacity=4,
        vehicle_type=fleet.Vehicle.VehicleType(category=fleet.Vehicle.VehicleType.Category.AUTO))))
    return id


@pytest.fixture
def trip():
    """A trip, over REST with a token by `fleetpass mint`."""
    id = f"trip-{uuid.uuid4()}"
    token = subprocess.run(
        ["fleetpass", "mint", "--key", f"{KEYS}/server.json", "--role", "server"], stdout=subprocess.PIPE, text=True,
        check=True).stdout.strip()
    body = {"tripType": "EXCLUSIVE", "pickupPoint": {"point": {"latitude": 37.4196, "longitude": -122.0738}}}
    answer = requests.post(
        f"{URL}/v1/{PROVIDER}/trips?tripId={id}", json=body, headers={"Authorization": f"Bearer {token}"}, timeout=10)
    assert answer.status_code == 200, answer.text
    return id


@pytest.fixture
def driver(vehicle):
    """A driver's token, as the app gets it from the token server."""
    answer = requests.post(f"{URL}/v1/tokens", json={"role": "driver", "vehicle": vehicle}, timeout=10)
    return answer.json()["token"]


def test_a_driver_goes_online(vehicle, driver):
    assert update(vehicle, driver).json()["vehicleState"] == "ONLINE"


def test_a_customer_reads_its_trip(trip):
    token = requests.post(f"{URL}/v1/tokens", json={"role": "consumer", "trip": trip}, timeout=10).json()["token"]
    answer = requests.get(f"{URL}/v1/{PROVIDER}/trips/{trip}", headers={"Authorization": f"Bearer {token}"}, timeout=10)
    assert answer.json()["name"] == f"{PROVIDER}/trips/{trip}"


def test_a_driver_is_refused_another_vehicle(driver):
    answer = update("veh-another", driver)
    (detail,) = answer.json()["error"]["details"]
    assert (answer.status_code, detail["reason"]) == (403, "CLAIM_MISMATCH")


def test_over_grpc_the_refusal_has_the_same_reason(vehicle):
    with pytest.raises(exceptions.PermissionDenied) as refusal:
        vehicles("driver", "veh-another").get_vehicle(fleet.GetVehicleRequest(name=f"{PROVIDER}/vehicles/{vehicle}"))
    assert refusal.value.reason == "CLAIM_MISMATCH"


def test_an_outage_is_told_and_over_after_two_calls(vehicle, driver):
    script = {"steps": [{"status": "UNAVAILABLE", "vehicle": vehicle, "calls": 2}]}
    assert requests.put(f"{URL}/chaos", json=script, timeout=10).status_code == 200
    assert [update(vehicle, driver).status_code for _ in range(3)] == [503, 503, 200]


def test_a_token_is_refused_once_as_expired(vehicle, driver):
    script = {"steps": [{"refuse": "TOKEN_EXPIRED", "vehicle": vehicle, "calls": 1}]}
    subprocess.run(["fleetpass", "chaos", "set", "-", "--engine", URL], input=json.dumps(script), text=True, check=True)
    assert update(vehicle, driver).status_code == 401
    assert update(vehicle, driver).status_code == 200
