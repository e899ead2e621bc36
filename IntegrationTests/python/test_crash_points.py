# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""A program that dies at any step of its way to the store: what was acknowledged is there, and of what was not, all or
nothing."""

import itertools
import json
import re
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from clients import vehicle_body
from engine_server import EngineServer, trust_file
from service import run
from test_api import ADMIN, callers
from test_nodes import database, fingerprint  # noqa: F401  (a fixture)
from test_serve import SECRET, TokenServer

# Ends the program at the CRASH_AT-th time that it changes what CRASH_ON names, a file or the other end of a socket, once
# the file CRASH_ARMED is there. CRASH_HOW says in which state:
#   torn   half of what was to be written or sent is; a sync or the like is done, but nobody hears of it
#   sent   all of it is written or sent, but nobody hears of it
#   lost   counts syncs alone, dies before one, and takes with it what no sync has brought to the disk, as a power cut does
CRASHING = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { WRITING, OTHER, SYNC };
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int count;
// Files that were written since their last sync, as they were then.
static struct { char path[512]; char *bytes; off_t size; } unsynced[16];

static int is(const char *how) { return strcmp(getenv("CRASH_HOW"), how) == 0; }

static int concerns(int file, char *path, size_t room) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, room - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (strncmp(path, "socket:", 7) == 0) {
        struct sockaddr_un peer = {0};
        socklen_t size = sizeof peer;
        if (getpeername(file, (struct sockaddr *)&peer, &size) != 0 || peer.sun_family != AF_UNIX) return 0;
        snprintf(path, room, "%s", peer.sun_path);
    }
    // The index in shared memory is made anew after a crash.
    return strstr(path, getenv("CRASH_ON")) != NULL && strstr(path, "-shm") == NULL;
}

static void remember(const char *path) {
    int place = -1;
    for (int i = 0; i < 16; i++) {
        if (strcmp(unsynced[i].path, path) == 0) return;
        if (unsynced[i].path[0] == 0) place = i;
    }
    int file = open(path, O_RDONLY);
    struct stat status;
    if (place < 0 || file < 0 || fstat(file, &status) != 0) abort();
    unsynced[place].bytes = malloc(status.st_size + 1);
    unsynced[place].size = read(file, unsynced[place].bytes, status.st_size);
    if (unsynced[place].size != status.st_size) abort();
    strcpy(unsynced[place].path, path);
    close(file);
}

static void forget(const char *path) {
    for (int i = 0; i < 16; i++)
        if (strcmp(unsynced[i].path, path) == 0) {
            free(unsynced[i].bytes);
            unsynced[i].path[0] = 0;
        }
}

static void die(void) {
    for (int i = 0; i < 16; i++)
        if (unsynced[i].path[0] != 0) {
            int file = open(unsynced[i].path, O_WRONLY | O_TRUNC);
            if (syscall(SYS_write, file, unsynced[i].bytes, unsynced[i].size) != unsynced[i].size) abort();
        }
    kill(getpid(), SIGKILL);
    while (1) pause();
}

// Whether the program ends with this step.
static int last(int kind, const char *path) {
    if (is("lost") && kind != SYNC) remember(path);
    if ((is("lost") && kind != SYNC) || access(getenv("CRASH_ARMED"), F_OK) != 0) return 0;
    return ++count == atoi(getenv("CRASH_AT"));
}

static ssize_t at(int file, const char *bytes, size_t length, off_t place) {
    return syscall(SYS_pwrite64, file, bytes, length, place);
}
static ssize_t here(int file, const char *bytes, size_t length, off_t none) {
    return syscall(SYS_write, file, bytes, length);
}
static ssize_t away(int file, const char *bytes, size_t length, off_t flags) {
    return syscall(SYS_sendto, file, bytes, length, (int)flags, NULL, 0);
}

static ssize_t put(int file, const char *bytes, size_t length, ssize_t (*rest)(int, const char *, size_t, off_t), off_t extra) {
    char path[512];
    if (!concerns(file, path, sizeof path)) return rest(file, bytes, length, extra);
    pthread_mutex_lock(&turn);
    // SQLite writes the head of a frame of its log apart from the page; whether half of one is there makes no difference.
    if (rest == at && length == 24) {
        if (is("lost")) remember(path);
    } else if (last(WRITING, path)) {
        rest(file, bytes, is("torn") ? length / 2 : length, extra);
        die();
    }
    ssize_t written = rest(file, bytes, length, extra);
    pthread_mutex_unlock(&turn);
    return written;
}

static int change(int file, int kind, long number, off_t extra) {
    char path[512];
    if (!concerns(file, path, sizeof path)) return syscall(number, file, extra);
    pthread_mutex_lock(&turn);
    int ends = last(kind, path);
    if (ends && is("lost")) die();
    int result = syscall(number, file, extra);
    if (ends) die();
    if (kind == SYNC) forget(path);
    pthread_mutex_unlock(&turn);
    return result;
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t place) { return put(file, bytes, length, at, place); }
ssize_t pwrite64(int file, const void *bytes, size_t length, off_t place) { return put(file, bytes, length, at, place); }
ssize_t write(int file, const void *bytes, size_t length) { return put(file, bytes, length, here, 0); }
ssize_t send(int file, const void *bytes, size_t length, int flags) { return put(file, bytes, length, away, flags); }
int fsync(int file) { return change(file, SYNC, SYS_fsync, 0); }
int fdatasync(int file) { return change(file, SYNC, SYS_fdatasync, 0); }
int ftruncate(int file, off_t size) { return change(file, OTHER, SYS_ftruncate, size); }
int ftruncate64(int file, off_t size) { return change(file, OTHER, SYS_ftruncate, size); }
int unlink(const char *path) {
    int ends = 0;
    if (strstr(path, getenv("CRASH_ON")) != NULL && !is("lost")) {
        pthread_mutex_lock(&turn);
        ends = last(OTHER, path);
        pthread_mutex_unlock(&turn);
    }
    int result = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (ends) die();
    return result;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crashing")
    (folder / "crashing.c").write_text(CRASHING, encoding="utf-8")
    library = folder / "crashing.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, folder / "crashing.c"], check=True)
    return library


class Crash:
    """One way for a program to end: where, in which state, and for changes of what."""

    def __init__(self, library, folder, number, how, on):
        self.folder = folder
        self.number = number
        self.marker = folder / "armed"
        self.environment = {
            "LD_PRELOAD": str(library), "CRASH_AT": str(number), "CRASH_HOW": how, "CRASH_ON": on,
            "CRASH_ARMED": str(self.marker)}


def at_every_point(library, tmp_path, how, on, attempt):
    """Makes a program end at its first change, at its second and so on, until it gets to its end alive.

    Gives what the attempts that ended early gave, none of which is false."""
    found = []

    def crash(number):
        folder = tmp_path / f"{how}-{number}"
        result = attempt(Crash(library, folder, number, how, on))
        shutil.rmtree(folder)
        return result

    with ThreadPoolExecutor(2) as pool:
        for number in itertools.count(1, 2):
            results = list(pool.map(crash, [number, number + 1]))
            found += [result for result in results if result]
            if not all(results):
                return found


def acknowledged(server, steps):
    """How many steps a server answered well before it died, or `None` where it came to its end."""
    for number, step in enumerate(steps):
        try:
            answer = step()
        except requests.RequestException:
            assert server.process.wait(timeout=30) == -9
            server.process.communicate()
            return number
        assert answer.status_code == 200, answer.text
    code, _, errors = server.stop()
    assert code in (0, -9), errors
    return len(steps) if code else None


def judged(done, state, states):
    """Whatever was acknowledged must be there, and of the next step all or nothing; gives that step, and which it is."""
    possible = states[done : done + 2]
    assert state in possible, f"after {done} steps"
    return done, "nothing" if state == possible[0] else "all"


def both_ways(states):
    """Each step once with all of it and once with nothing, and the end, which changes nothing."""
    return {(number, what) for number in range(len(states)) for what in ("all", "nothing")} - {(len(states) - 1, "all")}


def never_kept(states):
    return {(number, "nothing") for number in range(len(states))}


def ask(database, statement):  # noqa: F811
    """What the database answers, without heads."""
    return subprocess.run(
        ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--dbname", database.address, "--command", statement],
        check=True, capture_output=True, text=True).stdout


def connections(database, name):  # noqa: F811
    """How many connections the database has of who told it that name."""
    return int(ask(database, f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}'"))


def nothing_under_way(database, name):  # noqa: F811
    """Waits until the database is done with what was sent whole, and may still be worked on."""
    deadline = time.monotonic() + 30
    while connections(database, name) > 0:
        assert time.monotonic() < deadline, "the database goes on with what is over"


# The engine

POINT = {"latitude": 37.4, "longitude": -122.1}
TASK = {"type": "PICKUP", "state": "OPEN", "trackingId": "shp", "taskDuration": "300s", "plannedLocation": {"point": POINT}}
TOKENS = {"vehicles": "server", "trips": "server", "deliveryVehicles": "delivery_admin", "tasks": "delivery_admin"}


@pytest.fixture(scope="module")
def tokens(service):
    return {collection: service.mint(role) for collection, role in TOKENS.items()}


class Work:
    """A day's work for an engine in a few calls, under names of its own."""

    def __init__(self, tokens, tag="first"):
        self.tokens = tokens
        self.tag = tag

    def call(self, engine, verb, path, body=None):
        text = json.dumps(body).replace("TAG", self.tag) if body is not None else None
        return engine.rest(verb, path.replace("TAG", self.tag), self.tokens[re.split("[/?:]", path)[0]], data=text)

    def steps(self, engine):
        """Each of them is one change."""
        stop = {"plannedLocation": {"point": POINT}, "state": "NEW", "tasks": [
            {"taskId": f"TAG-task-{number}", "taskDuration": "60s"} for number in (2, 3)]}
        calls = [
            ("POST", "vehicles?vehicleId=TAG-veh", vehicle_body()),
            ("POST", "trips?tripId=TAG-trip", {
                "tripType": "EXCLUSIVE", "pickupPoint": {"point": POINT}, "dropoffPoint": {"point": POINT}}),
            # The vehicle knows of its trip by it.
            ("PUT", "trips/TAG-trip?updateMask=vehicleId,tripStatus", {
                "vehicleId": "TAG-veh", "tripStatus": "ENROUTE_TO_PICKUP"}),
            ("PUT", "vehicles/TAG-veh?updateMask=lastLocation", {"lastLocation": {"location": POINT}}),
            ("POST", "deliveryVehicles?deliveryVehicleId=TAG-van", {}),
            ("POST", "tasks?taskId=TAG-task-1", TASK),
            ("POST", "tasks:batchCreate", {
                "requests": [{"taskId": f"TAG-task-{number}", "task": TASK} for number in (2, 3, 4)]}),
            # Both tasks know of the vehicle by it.
            ("PATCH", "deliveryVehicles/TAG-van?updateMask=remainingVehicleJourneySegments", {
                "remainingVehicleJourneySegments": [{"stop": stop}]}),
            ("DELETE", "tasks/TAG-task-4"),
        ]
        return [lambda call=call: self.call(engine, *call) for call in calls]

    def state(self, engine):
        """All that there is of it, but for times."""
        state = {}
        for path in ["vehicles/TAG-veh", "trips/TAG-trip", "deliveryVehicles/TAG-van"] + [
                f"tasks/TAG-task-{number}" for number in (1, 2, 3, 4)]:
            answer = self.call(engine, "GET", path)
            assert answer.status_code in (200, 404), answer.text
            text = re.sub(r'"\d{4}-\d\d-\d\dT[^"]*Z"|"[\d.]+s"', '"TIME"', answer.text.replace(self.tag, "TAG"))
            state[path] = json.loads(text) if answer.status_code == 200 else None
        return state

    def states(self, engine):
        """The states before the first step and after each."""
        states = [self.state(engine)]
        for step in self.steps(engine):
            answer = step()
            assert answer.status_code == 200, answer.text
            states.append(self.state(engine))
        assert all(before != after for before, after in itertools.pairwise(states))
        return states

    def goes_on(self, engine):
        more = Work(self.tokens, f"{self.tag}-more")
        return [more.steps(engine)[0]().status_code, more.call(engine, "GET", "vehicles/TAG-veh").status_code] == [200, 200]


@pytest.fixture(scope="module")
def base(tmp_path_factory, service):
    """The folder of an engine that was ended well, which trusts whom it must."""
    folder = tmp_path_factory.mktemp("base")
    shutil.copytree(service.data / "service-accounts", folder / "keys")
    trust_file(folder, "keys", sorted(set(TOKENS.values())))
    assert EngineServer(folder).stop()[0] == 0
    return folder


@pytest.fixture(scope="module")
def states(base, tmp_path_factory, tokens):
    folder = tmp_path_factory.mktemp("states") / "engine"
    shutil.copytree(base, folder)
    engine = EngineServer(folder)
    states = Work(tokens).states(engine)
    engine.kill()
    return states


@pytest.mark.parametrize("how", ["torn", "lost"])
def test_an_engine_that_dies_at_any_write_has_what_it_acknowledged(library, base, states, tokens, tmp_path, how):
    work = Work(tokens)

    def attempt(crash):
        shutil.copytree(base, crash.folder)
        engine = EngineServer(crash.folder, environment=crash.environment)
        crash.marker.touch()
        done = acknowledged(engine, work.steps(engine))
        if done is None:
            return None
        engine = EngineServer(crash.folder)
        try:
            found = judged(done, work.state(engine), states)
            assert work.goes_on(engine)
        finally:
            engine.kill()
        return found

    found = at_every_point(library, tmp_path, how, "fleetpass.sqlite", attempt)
    # The end was struck too, which brings everything into the file.
    assert set(found) == (both_ways(states) if how == "torn" else never_kept(states))


def test_an_engine_that_loses_its_power_while_it_makes_its_store_makes_it_next_time(library, base, tokens, tmp_path):
    def attempt(crash):
        shutil.copytree(base, crash.folder)
        shutil.rmtree(crash.folder / "data")
        crash.marker.touch()
        try:
            EngineServer(crash.folder, environment=crash.environment).kill()
            return None
        except AssertionError as error:
            assert "no ready line but ''" in str(error) and "fleetpass: " not in str(error)
        engine = EngineServer(crash.folder)
        try:
            assert Work(tokens).steps(engine)[0]().status_code == 200
        finally:
            engine.kill()
        return True

    assert len(at_every_point(library, tmp_path, "lost", "fleetpass.sqlite", attempt)) > 5


@pytest.mark.parametrize("how", ["torn", "sent"])
def test_an_engine_that_dies_at_anything_it_sends_to_its_database_has_what_it_acknowledged(
        library, base, states, tokens, database, tmp_path, how):  # noqa: F811
    def engine(folder, name, environment=None):
        # By its name the database tells whose connections are still open.
        address = f"{database.address}&application_name={name}"
        return EngineServer(folder, environment={"FLEETPASS_STORE_POSTGRESQL": address, **(environment or {})})

    def attempt(crash):
        name = f"{how}{crash.number:04}"
        shutil.copytree(base, crash.folder)
        node = engine(crash.folder, name, crash.environment)
        assert connections(database, name) > 0
        crash.marker.touch()
        work = Work(tokens, name)
        done = acknowledged(node, work.steps(node))
        if done is None:
            return None
        nothing_under_way(database, name)
        node = engine(crash.folder, f"{name}-next")
        try:
            found = judged(done, work.state(node), states)
            assert work.goes_on(node)
        finally:
            node.kill()
        return found

    assert engine(base, "first").stop()[0] == 0
    found = at_every_point(library, tmp_path, how, ".s.PGSQL.", attempt)
    # Every step was struck. Half a message changes nothing, and a whole one may; between a commit and its answer another
    # connection may be struck, such as that of the look at the database.
    assert {number for number, _ in found} >= set(range(len(states) - 1))
    assert {what for _, what in found} >= ({"nothing"} if how == "torn" else {"all", "nothing"})


# The token server


class Grants:
    """A few requests to a token server, and what it keeps of them."""

    def __init__(self, folder, address=None):
        self.folder = folder
        self.address = address
        self.fingerprints = []

    def start(self, environment=None):
        store = {"FLEETPASS_STORE_POSTGRESQL": self.address} if self.address else {}
        return TokenServer(
            self.folder, "admin: {callers_file: admins.json}\n", environment={**store, **(environment or {})})

    def mint(self, server, vehicle):
        answer = server.get(f"/token/driver/{vehicle}")
        if answer.status_code == 200:
            self.fingerprints.append(fingerprint(answer.json()["jwt"]))
        return answer

    def administer(self, server, path, **options):
        answer = requests.request(
            "POST" if options else "GET", f"{server.http}/admin/api/{path}",
            headers={"Authorization": f"Bearer {ADMIN}"}, timeout=30, **options)
        # One that was made is told with a status of its own.
        answer.status_code = 200 if answer.status_code == 201 else answer.status_code
        return answer

    def steps(self, server):
        """Each of them is one change, and its record in the audit with it."""
        held = {"holder": "idp/dora", "kind": "vehicle", "id": "veh-1"}
        return [
            lambda: self.mint(server, "veh-1"), lambda: self.administer(server, "assignments", json=held),
            lambda: self.administer(server, "revocations", json={"kind": "vehicle", "value": "veh-1"}),
            lambda: self.mint(server, "veh-2"),
        ]

    def audit(self):
        """What each record tells of, in a chain that holds. The server need not have mended the store before."""
        store = ["--store", self.address] if self.address else ["--data", self.folder]
        result = run("audit", "verify", *store)
        assert result.returncode == 0, result.stderr
        lines = run("audit", "export", *store).stdout.decode().splitlines()
        records = [json.loads(line)["record"] for line in lines]
        assert set(self.fingerprints) <= {record.get("fingerprint") for record in records}, "a token is not in the audit"
        return [record.get("change") or record["decision"] for record in records]

    def state(self, server):
        held = self.administer(server, "assignments").json()["assignments"]
        withdrawn = self.administer(server, "revocations").json()["revocations"]
        return [one["holder"] for one in held], [one["kind"] for one in withdrawn]


@pytest.fixture
def grants(tmp_path, service):
    """Makes the folder of a token server that was ended well."""
    base = tmp_path / "base"
    shutil.copytree(service.data / "service-accounts", base / "service-accounts")
    (base / "callers.json").write_text(callers(SECRET, roles=["driver"]), encoding="utf-8")
    (base / "admins.json").write_text(callers(ADMIN), encoding="utf-8")
    assert Grants(base).start().stop()[0] == 0

    def copy(folder, address=None):
        shutil.copytree(base, folder)
        return Grants(folder, address)
    return copy


def after_each_step(work):
    """What is kept before the first step and after each."""
    server = work.start()
    states = [(work.audit(), work.state(server))]
    for step in work.steps(server):
        assert step().status_code == 200
        states.append((work.audit(), work.state(server)))
    server.kill()
    assert states[-1] == (
        ["granted", "assignment_added", "tokens_withdrawn", "granted"], (["idp/dora"], ["fingerprint"]))
    return states


def resumed(work, done, states):
    """Judges what a server left, by its audit before any other mends it, and whether the next one goes on with it."""
    audit = work.audit()
    server = work.start()
    try:
        found = judged(done, (audit, work.state(server)), states)
        assert work.mint(server, "veh-3").status_code == 200
    finally:
        server.kill()
    assert work.audit() == audit + ["granted"]
    return found


@pytest.mark.parametrize("how", ["torn", "lost"])
def test_a_token_server_that_dies_at_any_write_leaves_a_whole_chain_with_all_it_gave(library, grants, tmp_path, how):
    states = after_each_step(grants(tmp_path / "example"))

    def attempt(crash):
        work = grants(crash.folder)
        server = work.start(crash.environment)
        crash.marker.touch()
        done = acknowledged(server, work.steps(server))
        return None if done is None else resumed(work, done, states)

    found = at_every_point(library, tmp_path, how, "token-server.sqlite", attempt)
    assert set(found) == (both_ways(states) if how == "torn" else never_kept(states))


def test_a_token_server_that_dies_at_anything_it_sends_to_its_database_leaves_a_whole_chain_with_all_it_gave(
        library, grants, database, tmp_path):  # noqa: F811
    def of_its_own(folder, name, template=None):
        """Work over a database of its own, which tells by the name whose connections are still open."""
        ask(database, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        ask(database, f"CREATE DATABASE {name} TEMPLATE {template or 'template1'}")
        address = database.address.replace("/fleetpass?", f"/{name}?")
        assert address != database.address
        return grants(folder, f"{address}&application_name={name}")

    states = after_each_step(of_its_own(tmp_path / "example", "example"))
    # What a server makes at its first start is there before any is to die.
    assert of_its_own(tmp_path / "made", "made").start().stop()[0] == 0

    def attempt(crash):
        name = f"crash{crash.number:04}"
        work = of_its_own(crash.folder, name, "made")
        server = work.start(crash.environment)
        crash.marker.touch()
        done = acknowledged(server, work.steps(server))
        if done is None:
            return None
        nothing_under_way(database, name)
        return resumed(work, done, states)

    # Every step is struck, and a message that was sent whole may be one that changes nothing. Where another connection,
    # such as that of the look at the database, took the turn of a commit, the next round strikes it.
    missing = both_ways(states[:-1]) - {(len(states) - 2, "nothing")}
    for _ in range(5):
        found = set(at_every_point(library, tmp_path, "sent", ".s.PGSQL.", attempt))
        assert {number for number, _ in found} >= set(range(len(states) - 1))
        missing -= found
        if not missing:
            break
    assert not missing
