# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""A disk that fills up: writes are refused in words, reads go on, and nothing is restarted when there is room again.
A disk that stalls: writes wait for it, nobody else does, and nothing that was acknowledged is lost."""

import os
import sqlite3
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import requests

from clients import vehicle_body
from engine_server import trust_file
from service import PROVIDER, Service, refusal, run

SIZE = 32 * 1024 * 1024
# What is left to the service after start: less than its write-ahead log wants.
ROOM = 512 * 1024


def copy_keys(service, data):
    """The keys of the session's service, which take long to make."""
    accounts = data / "service-accounts"
    accounts.mkdir(mode=0o700)
    for path in (service.data / "service-accounts").iterdir():
        (accounts / path.name).write_bytes(path.read_bytes())
        (accounts / path.name).chmod(0o600)


@pytest.fixture
def small_disk(tmp_path, service):
    """A data folder on a file system of its own."""
    data = tmp_path / "data"
    data.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0700", "tmpfs", data], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.decode().strip()}")
    try:
        copy_keys(service, data)
        yield data
    finally:
        subprocess.run(["umount", "--lazy", data], check=True)


def fill(data, room=ROOM):
    """Leaves little room on the disk; gives the file that takes the rest."""
    ballast = data / "ballast"
    status = os.statvfs(data)
    with open(ballast, "wb") as file:
        file.write(bytes(max(0, status.f_bavail * status.f_frsize - room)))
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


def test_a_server_whose_disk_has_no_room_for_a_record_is_unready_until_it_has(small_disk, service):
    running = Service(small_disk)

    def ready():
        return requests.get(f"{running.http}/readyz", timeout=30).status_code

    try:
        ballast = fill(small_disk, 64 * 1024)
        for number in range(1000):
            answer = requests.get(f"{running.http}/token/driver/veh-{number}", timeout=30)
            if answer.status_code != 200:
                break
        assert answer.status_code == 503, answer.text
        # Nobody asks for a token meanwhile, as behind a load balancer that was told.
        deadline = time.monotonic() + 7
        while time.monotonic() < deadline:
            assert ready() == 503
            time.sleep(0.2)
        assert 'fleetpass_ready{check="store"} 0' in requests.get(f"{running.http}/metrics", timeout=30).text

        ballast.unlink()
        deadline = time.monotonic() + 30
        while ready() != 200:
            assert time.monotonic() < deadline, "not ready, although there is room"
            time.sleep(0.2)
        assert requests.get(f"{running.http}/token/driver/veh-1", timeout=30).status_code == 200
    finally:
        running.kill()
    assert run("audit", "verify", "--data", small_disk).returncode == 0


def test_a_command_on_a_full_disk_says_so_and_changes_nothing(small_disk, service):
    code, _, errors = Service(small_disk).stop()
    assert code == 0, errors
    holder = ["--holder", "idp/dora", "--vehicle", "veh-1"]
    ballast = fill(small_disk, 0)
    result = run("assignments", "add", "--data", small_disk, *holder)
    assert result.returncode == 69, result.stderr
    assert b"has no room on its disk; nothing in it was changed. Make room, and retry." in result.stderr
    assert b"SQLite error" not in result.stderr

    ballast.unlink()
    assert run("assignments", "list", "--data", small_disk).stdout == b""
    assert run("assignments", "add", "--data", small_disk, *holder).returncode == 0


def test_a_store_on_a_disk_that_can_only_be_read_is_read(small_disk, service):
    running = Service(small_disk)
    assert requests.get(f"{running.http}/token/driver/veh-1", timeout=30).status_code == 200
    holder = ["--holder", "idp/dora", "--vehicle", "veh-1"]
    assert run("assignments", "add", "--data", small_disk, *holder).returncode == 0
    assert run("revoke", "--data", small_disk, "--key", "k1").returncode == 0
    code, _, errors = running.stop()
    assert code == 0, errors
    # A copy of the file alone, as a backup is.
    copy = small_disk / "a copy?.sqlite"
    copy.write_bytes((small_disk / "token-server.sqlite").read_bytes())
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    for place in (["--store", copy], ["--data", small_disk]):
        result = run("audit", "verify", *place)
        assert result.returncode == 0, result.stderr
        assert result.stdout.startswith(b"intact records=3 ")
        assert run("audit", "export", *place).stdout.count(b"\n") == 3
        assert b"veh-1" in run("audit", "search", *place, "--vehicle", "veh-1").stdout
        assert run("assignments", "list", *place).stdout.startswith(b"idp/dora vehicle=veh-1 ")
        assert run("revoke", *place).stdout.startswith(b"key=k1 ")
    assert not copy.with_name(copy.name + "-wal").exists()


@pytest.mark.parametrize("left", ["what a server leaves", "what a killed server leaves", "the file alone"])
def test_a_command_on_a_disk_that_can_only_be_read_says_so(small_disk, service, left):
    running = Service(small_disk)
    assert requests.get(f"{running.http}/token/driver/veh-1", timeout=30).status_code == 200
    if "killed" in left:
        running.kill()
    else:
        code, _, errors = running.stop()
        assert code == 0, errors
    if "alone" in left:
        for ending in ("-wal", "-shm"):
            (small_disk / f"token-server.sqlite{ending}").unlink(missing_ok=True)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    result = run("assignments", "add", "--data", small_disk, "--holder", "idp/dora", "--vehicle", "veh-1")
    assert result.returncode == 69, result.stderr
    assert b"can only be read; nothing in it was changed." in result.stderr
    assert b"SQLite error" not in result.stderr


def test_a_command_that_comes_upon_a_busy_store_says_so(tmp_path, service):
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    copy_keys(service, data)
    code, _, errors = Service(data).stop()
    assert code == 0, errors
    with closing(sqlite3.connect(data / "token-server.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        result = run("assignments", "add", "--data", data, "--holder", "idp/dora", "--vehicle", "veh-1")
    assert result.returncode == 69, result.stderr
    assert b"is kept busy by another process; nothing in it was changed. Retry when" in result.stderr
    assert b"SQLite error" not in result.stderr
    assert run("assignments", "list", "--data", data).stdout == b""


def start_engine(folder, service, data):
    """What becomes of a `serve engine` that cannot start."""
    trust_file(folder, service.data / "service-accounts")
    config = folder / "engine.yaml"
    config.write_text(f"providers: {PROVIDER}\ndata: {data}\ntrust: {{files: trust.yaml}}\n", encoding="utf-8")
    ports = {"FLEETPASS_LISTEN_HTTP_PORT": "0", "FLEETPASS_LISTEN_GRPC_PORT": "0"}
    return run("serve", "engine", "--config", config, environment=ports)


def make_engine_store(data):
    """An engine's store as a server leaves it."""
    code, _, errors = Service(data).stop()
    assert code == 0, errors
    assert (data / "fleetpass.sqlite").exists()


@pytest.mark.parametrize("is_new", [True, False])
def test_an_engine_that_finds_no_room_may_be_started_again(small_disk, tmp_path, service, is_new):
    if not is_new:
        make_engine_store(small_disk)
    fill(small_disk, 0)
    result = start_engine(tmp_path, service, small_disk)
    assert result.returncode == 69, result.stderr
    assert b"has no room on its disk; nothing in it was changed. Make room, and retry." in result.stderr


@pytest.mark.parametrize("left", ["what a server leaves", "the store alone", "nothing"])
def test_an_engine_on_a_disk_that_can_only_be_read_may_be_started_again(small_disk, tmp_path, service, left):
    if left != "nothing":
        make_engine_store(small_disk)
    if left == "the store alone":
        for ending in ("-lock", "-wal", "-shm"):
            (small_disk / f"fleetpass.sqlite{ending}").unlink(missing_ok=True)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    result = start_engine(tmp_path, service, small_disk)
    assert result.returncode == 69, result.stderr
    assert b"can only be read; nothing in it was changed." in result.stderr


def test_an_engine_that_comes_upon_a_busy_store_may_be_started_again(tmp_path, service):
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    copy_keys(service, data)
    make_engine_store(data)
    with closing(sqlite3.connect(data / "fleetpass.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        result = start_engine(tmp_path, service, data)
    assert result.returncode == 69, result.stderr
    assert b"is kept busy by another process; nothing in it was changed. Retry when" in result.stderr


# Every sync to disk waits as long as a file is there, and counts in another that it came.
STALLING_DISK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int stall(const char *name, int file) {
    const char *path = getenv("STALLED_WHILE"), *arrivals = getenv("STALLED_ARRIVALS");
    if (access(path, F_OK) == 0) {
        int log = open(arrivals, O_CREAT | O_APPEND | O_WRONLY, 0600);
        if (log >= 0) {
            if (write(log, "1", 1) < 0) abort();
            close(log);
        }
        while (access(path, F_OK) == 0) usleep(5000);
    }
    int (*sync)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return sync(file);
}
int fsync(int file) { return stall("fsync", file); }
int fdatasync(int file) { return stall("fdatasync", file); }
"""


class StallingDisk:
    """A disk whose syncs wait while it is told to stall."""

    def __init__(self, folder):
        library = folder / "stalling.so"
        source = folder / "stalling.c"
        source.write_text(STALLING_DISK, encoding="utf-8")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        self.marker = folder / "stalled"
        self.arrivals = folder / "arrivals"
        self.environment = {
            "LD_PRELOAD": str(library), "STALLED_WHILE": str(self.marker), "STALLED_ARRIVALS": str(self.arrivals)}

    def stall(self):
        self.arrivals.unlink(missing_ok=True)
        self.marker.touch()

    def wait_for_a_sync(self):
        deadline = time.monotonic() + 30
        while not self.arrivals.exists():
            assert time.monotonic() < deadline, "nothing was written to the disk"
            time.sleep(0.01)

    def go_on(self):
        self.marker.unlink()


@pytest.fixture
def stalling_disk(tmp_path):
    disk = StallingDisk(tmp_path)
    yield disk
    disk.marker.unlink(missing_ok=True)


def test_a_disk_that_stalls_delays_writes_alone_and_loses_none(stalling_disk, tmp_path, service):
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    copy_keys(service, data)
    token = service.mint("server")
    running = Service(data, environment=stalling_disk.environment)
    try:
        assert create(running, token, 0).status_code == 200
        acknowledged = {0}

        stalling_disk.stall()
        with ThreadPoolExecutor(32) as pool:
            writes = {number: pool.submit(create, running, token, number) for number in range(1, 33)}
            stalling_disk.wait_for_a_sync()
            # Who only looks is answered, as is who watches over the service.
            for _ in range(20):
                assert running.rest("GET", "vehicles/vehicle-0", token).status_code == 200
            assert stored(running, token) == acknowledged
            assert requests.get(f"{running.http}/healthz", timeout=10).status_code == 200
            assert not any(write.done() for write in writes.values())
            stalling_disk.go_on()
            for number, write in writes.items():
                assert write.result().status_code == 200, write.result().text
                acknowledged.add(number)
        assert stored(running, token) == acknowledged

        # Cut off in the middle of it, what was never acknowledged may be there or not, but nothing else is missing.
        stalling_disk.stall()
        with ThreadPoolExecutor(8) as pool:
            lost = [pool.submit(create, running, token, number) for number in range(100, 108)]
            stalling_disk.wait_for_a_sync()
            running.kill()
            for write in lost:
                with pytest.raises(requests.RequestException):
                    write.result()
        stalling_disk.go_on()
        running = Service(data, environment=stalling_disk.environment)
        assert acknowledged <= stored(running, token) <= acknowledged | set(range(100, 108))
        assert create(running, token, 200).status_code == 200
    finally:
        running.kill()
