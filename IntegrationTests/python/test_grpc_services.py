# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""gRPC's own services beside the API: health checks and reflection, asked by the libraries of the gRPC project."""

import grpc
import pytest
from google.protobuf import descriptor_pool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase


@pytest.fixture
def channel(service):
    with grpc.insecure_channel(service.grpc) as channel:
        yield channel


@pytest.mark.parametrize("name", ["", "maps.fleetengine.v1.TripService"])
def test_a_health_check_needs_no_token(channel, name):
    answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=name), timeout=10)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_a_watcher_is_told_at_once(channel):
    watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(), timeout=10)
    assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
    watch.cancel()


def test_an_unknown_service_is_not_found(channel):
    with pytest.raises(grpc.RpcError) as caught:
        health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service="none"), timeout=10)
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND


def test_a_tool_learns_every_method_by_reflection(channel):
    database = ProtoReflectionDescriptorDatabase(channel)
    pool = descriptor_pool.DescriptorPool(database)
    services = [name for name in database.get_services() if name.startswith("maps.")]
    methods = [method.full_name for name in services for method in pool.FindServiceByName(name).methods]
    assert len(methods) == 25
    vehicle = pool.FindMessageTypeByName("maps.fleetengine.v1.Vehicle")
    assert vehicle.fields_by_name["vehicle_state"].number == 2


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_compressed_messages_are_read(service, compression):
    with grpc.insecure_channel(service.grpc, compression=compression) as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
