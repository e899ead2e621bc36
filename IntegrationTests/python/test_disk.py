# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""A disk that fills up: writes are refused in words, reads go on, and nothing is restarted when there is room again."""

import os
import subprocess

import pytest

from clients import vehicle_body
from service import Service, refusal

SIZE = 32 * 1024 * 1024
# What is left to the service after start: less than its write-ahead log wants.
ROOM = 512 * 1024


@pytest.fixture
def small_disk(tmp_path, service):
    """A data folder on a file system of its own, with the keys of the session's service, which take long to make."""
    data = tmp_path / "data"
    data.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0700", "tmpfs", data], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.decode().strip()}")
    try:
        accounts = data / "service-accounts"
        accounts.mkdir()
        for path in (service.data / "service-accounts").iterdir():
            (accounts / path.name).write_bytes(path.read_bytes())
        yield data
    finally:
        subprocess.run(["umount", "--lazy", data], check=True)


def fill(data):
    """Leaves little room on the disk; gives the file that takes the rest."""
    ballast = data / "ballast"
    status = os.statvfs(data)
    with open(ballast, "wb") as file:
        file.write(bytes(max(0, status.f_bavail * status.f_frsize - ROOM)))
    return ballast


def create(service, token, number):
    body = vehicle_body() | {"attributes": [{"key": "note", "value": "n" * 200}]}
    return service.rest("POST", f"vehicles?vehicleId=vehicle-{number}", token, json=body)


def stored(service, token):
    """The numbers of the vehicles that the service has."""
    numbers, page = set(), ""
    while True:
        answer = service.rest("GET", f"vehicles?pageSize=1000&pageToken={page}", token)
        assert answer.status_code == 200, answer.text
        names = [vehicle["name"] for vehicle in answer.json().get("vehicles", [])]
        numbers |= {int(name.rpartition("-")[2]) for name in names}
        page = answer.json().get("nextPageToken", "")
        if not page:
            return numbers


def test_a_full_disk_refuses_writes_in_words_and_loses_none(small_disk, service):
    token = service.mint("server")
    running = Service(small_disk)
    try:
        acknowledged = set()
        ballast = fill(small_disk)
        for number in range(20_000):
            answer = create(running, token, number)
            if answer.status_code != 200:
                break
            acknowledged.add(number)
        assert refusal(answer) == ("UNAVAILABLE", "STORE_FULL"), answer.text
        assert "disk is full" in answer.json()["error"]["message"]
        assert acknowledged
        # Who only looks is served.
        assert stored(running, token) == acknowledged

        ballast.unlink()
        answer = create(running, token, 30_000)
        assert answer.status_code == 200, answer.text
        acknowledged.add(30_000)
        assert stored(running, token) == acknowledged

        running.kill()
        running = Service(small_disk)
        assert stored(running, token) == acknowledged
    finally:
        running.kill()
