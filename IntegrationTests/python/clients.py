# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The vendor's Python client, aimed at a service on this machine with credentials of every kind."""

import collections
import re
from dataclasses import dataclass

import google.auth.jwt
import grpc
from google.api_core import exceptions
from google.maps import fleetengine_delivery_v1 as delivery
from google.maps import fleetengine_v1 as fleet
from google.oauth2 import service_account
from google.protobuf import json_format

from service import AUDIENCE

PICKUP = {"latitude": 37.419646, "longitude": -122.073885}


@dataclass
class Clients:
    vehicles: fleet.VehicleServiceClient
    trips: fleet.TripServiceClient
    deliveries: delivery.DeliveryServiceClient


class _Call(
    collections.namedtuple("_Call", ("method", "timeout", "metadata", "credentials", "wait_for_ready", "compression")),
    grpc.ClientCallDetails,
):
    pass


class _TokenInterceptor(grpc.UnaryUnaryClientInterceptor):
    """Attaches one token to each call, as a hand-made client would."""

    def __init__(self, token):
        self._token = token

    def intercept_unary_unary(self, continuation, details, request):
        metadata = [*(details.metadata or []), ("authorization", f"Bearer {self._token}")]
        return continuation(
            _Call(details.method, details.timeout, metadata, details.credentials, details.wait_for_ready,
                  details.compression),
            request,
        )


def with_token(service, token):
    """Clients that send one token over a plain channel, or none."""
    channel = grpc.insecure_channel(service.grpc)
    if token is not None:
        channel = grpc.intercept_channel(channel, _TokenInterceptor(token))
    return Clients(
        fleet.VehicleServiceClient(transport=fleet.VehicleServiceClient.get_transport_class("grpc")(channel=channel)),
        fleet.TripServiceClient(transport=fleet.TripServiceClient.get_transport_class("grpc")(channel=channel)),
        delivery.DeliveryServiceClient(
            transport=delivery.DeliveryServiceClient.get_transport_class("grpc")(channel=channel)
        ),
    )


def with_credentials(service, credentials):
    """Clients whose tokens come from google-auth, over a channel that counts as secure on this machine only."""

    def transport(client):
        return client.get_transport_class("grpc")(
            host=service.grpc,
            credentials=credentials,
            ssl_channel_credentials=grpc.local_channel_credentials(grpc.LocalConnectionType.LOCAL_TCP),
        )

    return Clients(
        fleet.VehicleServiceClient(transport=transport(fleet.VehicleServiceClient)),
        fleet.TripServiceClient(transport=transport(fleet.TripServiceClient)),
        delivery.DeliveryServiceClient(transport=transport(delivery.DeliveryServiceClient)),
    )


def delivery_over_rest(service, credentials):
    """The delivery client over REST; there is none for trips and vehicles."""
    transport = delivery.DeliveryServiceClient.get_transport_class("rest")
    return delivery.DeliveryServiceClient(
        transport=transport(
            host=service.http.removeprefix("http://"), url_scheme="http", credentials=credentials
        )
    )


class _OverREST:
    """The calls of the role scripts over REST, in the shape of the vendor's clients."""

    _COLLECTIONS = {
        "vehicle": ("vehicles", "PUT", fleet.Vehicle), "trip": ("trips", "PUT", fleet.Trip),
        "delivery_vehicle": ("deliveryVehicles", "PATCH", delivery.DeliveryVehicle),
        "task": ("tasks", "PATCH", delivery.Task),
    }

    def __init__(self, service, token):
        self._service, self._token = service, token

    def search_vehicles(self, request):
        body = fleet.SearchVehiclesRequest(request, parent="")
        return self._ask(fleet.SearchVehiclesResponse, "POST", "vehicles:search", body)

    def get_task_tracking_info(self, request):
        return self._ask(delivery.TaskTrackingInfo, "GET", self._path(request.name))

    def __getattr__(self, name):
        verb, kind = name.split("_", 1)
        collection, update, resource = self._COLLECTIONS[kind]

        def call(request):
            if verb == "get":
                return self._ask(resource, "GET", self._path(request.name))
            body = getattr(request, kind)
            if verb == "create":
                field = re.sub("_(.)", lambda match: match[1].upper(), f"{kind}_id")
                return self._ask(resource, "POST", f"{collection}?{field}={getattr(request, f'{kind}_id')}", body)
            path = f"{self._path(body.name)}?updateMask={','.join(request.update_mask.paths)}"
            return self._ask(resource, update, path, body)
        return call

    def _path(self, name):
        return name.removeprefix(f"providers/{self._service.provider}/")

    def _ask(self, answer, verb, path, body=None):
        content = None if body is None else json_format.MessageToDict(type(body).pb(body))
        response = self._service.rest(verb, path, self._token, json=content)
        if response.status_code == 403 and response.json()["error"]["status"] == "PERMISSION_DENIED":
            raise exceptions.PermissionDenied(response.json()["error"]["message"])
        assert response.status_code == 200, response.text
        return answer.from_json(response.text)


def over_rest(service, token):
    """Clients that send one token over REST."""
    client = _OverREST(service, token)
    return Clients(client, client, client)


def jwt_credentials(service, role, authorization):
    """Credentials of google-auth that mint tokens with claims."""
    return google.auth.jwt.Credentials.from_service_account_file(
        str(service.key_file(role)), audience=AUDIENCE, additional_claims={"authorization": authorization}
    )


def by_mint(service, role, **ids):
    return with_token(service, service.mint(role, **ids))


def by_google_jwt(service, role, authorization):
    return with_credentials(service, jwt_credentials(service, role, authorization))


def by_service_account(service, role):
    """Application default credentials of a service account: a self-signed token without claims."""
    return with_credentials(
        service, service_account.Credentials.from_service_account_file(str(service.key_file(role)))
    )


def by_on_demand_jwt(service, role):
    """Tokens whose audience is the service's own address, which is not Fleet Engine."""
    return with_credentials(
        service, google.auth.jwt.OnDemandCredentials.from_service_account_file(str(service.key_file(role)))
    )


def vehicle_message(service, vehicle):
    """The vehicle of the published role scripts."""
    return fleet.Vehicle(
        name=f"providers/{service.provider}/vehicles/{vehicle}",
        vehicle_state=fleet.VehicleState.ONLINE,
        supported_trip_types=[fleet.TripType.EXCLUSIVE],
        maximum_capacity=4,
        vehicle_type=fleet.Vehicle.VehicleType(category=fleet.Vehicle.VehicleType.Category.AUTO),
        last_location=fleet.VehicleLocation(
            location={"latitude": 37.419645, "longitude": -122.073884},
            heading={"value": 0},
            altitude={"value": 0},
            speed={"value": 30000},
        ),
    )


def trip_message(service, trip):
    """The trip of the published role scripts."""
    return fleet.Trip(
        name=f"providers/{service.provider}/trips/{trip}",
        trip_type=fleet.TripType.EXCLUSIVE,
        pickup_point=fleet.TerminalLocation(point=PICKUP),
    )


def search_request(service, trip=""):
    """The search of the published role scripts."""
    return fleet.SearchVehiclesRequest(
        parent=f"providers/{service.provider}",
        pickup_point=fleet.TerminalLocation(point=PICKUP),
        pickup_radius_meters=400,
        count=5,
        minimum_capacity=1,
        trip_types=[fleet.TripType.EXCLUSIVE],
        vehicle_types=[fleet.Vehicle.VehicleType(category=fleet.Vehicle.VehicleType.Category.AUTO)],
        order_by=fleet.SearchVehiclesRequest.VehicleMatchOrder.PICKUP_POINT_DISTANCE,
        trip_id=trip,
    )


def task_message(service, task, tracking):
    """The task of the published role scripts."""
    return delivery.Task(
        name=f"providers/{service.provider}/tasks/{task}",
        type_=delivery.Task.Type.DELIVERY,
        state=delivery.Task.State.OPEN,
        tracking_id=tracking,
        planned_location=delivery.LocationInfo(point=PICKUP),
        task_duration={"seconds": 3600},
    )


def vehicle_body():
    """A vehicle for REST."""
    return {
        "vehicleState": "ONLINE",
        "supportedTripTypes": ["EXCLUSIVE"],
        "maximumCapacity": 4,
        "vehicleType": {"category": "AUTO"},
    }
