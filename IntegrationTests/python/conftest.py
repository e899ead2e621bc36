# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""One service for all tests, which must end well."""

import os
import signal
import uuid

import pytest

from clients import vehicle_body
from service import Service


def pytest_configure():
    def end(*_):
        pytest.exit("ended by SIGTERM", returncode=143)

    signal.signal(signal.SIGTERM, end)
    # Whoever runs the tests may have authorities of his own, which every program started here would go by.
    os.environ.pop("SSL_CERT_FILE", None)


def pytest_unconfigure():
    Service.kill_all()


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    service = Service(tmp_path_factory.mktemp("up") / "data")
    try:
        yield service
    except BaseException:
        service.kill()
        raise
    code, output, errors = service.stop()
    assert code == 0, errors
    assert output == "", "the ready line is the only result"


@pytest.fixture
def new_id():
    """Makes ids as the role scripts do."""
    return lambda kind: f"{kind}-{uuid.uuid4()}"


@pytest.fixture(scope="session")
def server_token(service):
    return service.mint("server")


@pytest.fixture
def vehicle(service, server_token, new_id):
    """The id of a vehicle that exists."""
    vehicle = new_id("vehicle")
    answer = service.rest("POST", f"vehicles?vehicleId={vehicle}", server_token, json=vehicle_body())
    assert answer.status_code == 200, answer.text
    return vehicle
