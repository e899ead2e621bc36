# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Several nodes over one PostgreSQL database: killed under load, one loses nothing, and the others go on."""

import contextlib
import hashlib
import http.client
import json
import os
import select
import shutil
import signal
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
import requests
from google.api_core import exceptions

from clients import vehicle_body, with_token
from engine_server import EngineServer, certificate, openssl, trust_file
from service import Service, refusal, run
from test_api import ADMIN, callers
from test_crash import STEP, stored_count
from test_revocations import eventually
from test_serve import BASE, SECRET, TokenServer

SCRIPT = Path(__file__).resolve().parents[2] / "Scripts" / "postgresql.sh"


class Database:
    """A PostgreSQL server to throw away."""

    def __init__(self, folder):
        self.folder = folder
        self.address = self.script("start", folder).strip()

    def script(self, *arguments):
        result = subprocess.run([SCRIPT, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True)
        return result.stdout

    def restart(self):
        self.script("restart", self.folder)

    def signal(self, number):
        """Sends a signal to the server, and then to all that serve its connections."""
        server = (self.folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0]
        os.kill(int(server), number)
        subprocess.run(["pkill", f"-{int(number)}", "-P", server], check=True)

    def stop(self):
        self.script("stop", self.folder)


@pytest.fixture
def database(tmp_path_factory):
    # Sockets want short paths that another user may enter.
    folder = Path("/tmp") / f"fleetpass-{tmp_path_factory.mktemp('pg').name}-{time.time_ns() % 1_000_000_000}"
    database = Database(folder)
    try:
        yield database
    finally:
        database.stop()


@contextlib.contextmanager
def listening(handle, host="127.0.0.1"):
    """A port of this machine where a function handles each connection."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            handle(self)

    with socketserver.ThreadingTCPServer((host, 0), Handler) as server:
        # What a failed test leaves connected is not waited for.
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def distant(database):
    """The database as it is reached over a network, by another address of this machine than its loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # Nothing is sent.
        except OSError:
            pytest.skip("this machine has no network")
        host = probe.getsockname()[0]

    def hand_on(connection):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as server:
            server.connect(str(database.folder / ".s.PGSQL.5432"))
            ends = {connection.request: server, server: connection.request}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    data = end.recv(65536)
                    if not data:
                        return
                    ends[end].sendall(data)

    with listening(hand_on, host) as port:
        yield SimpleNamespace(address=f"postgresql://fleetpass@{host}:{port}/fleetpass")


def test_the_script_takes_and_removes_nothing_that_it_did_not_make():
    # Of a short path, which a socket has room for.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        version = folder / "data" / "PG_VERSION"
        version.parent.mkdir()
        version.write_text("17\n", encoding="utf-8")
        (folder / "notes").write_text("mine", encoding="utf-8")
        before = folder.stat()
        for command, words in (("stop", "nothing was changed"), ("restart", "nothing was changed"), ("start", "name a new folder")):
            result = subprocess.run([SCRIPT, command, folder], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            assert result.returncode == 69, result.stderr
            assert words in result.stderr
            assert sorted(path.name for path in folder.iterdir()) == ["data", "notes"]
            assert version.read_text(encoding="utf-8") == "17\n"
            assert (folder.stat().st_uid, folder.stat().st_mode) == (before.st_uid, before.st_mode)


def test_what_was_put_beside_a_throw_away_server_outlives_it():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = Database(folder)
        (folder / "notes").write_text("mine", encoding="utf-8")
        server.restart()
        server.stop()
        assert [path.name for path in folder.iterdir()] == ["notes"]


def test_a_throw_away_server_is_reached_whatever_its_folder_is_called():
    with tempfile.TemporaryDirectory() as name:
        # The server's own user must come to it.
        os.chmod(name, 0o755)
        folder = Path(name) / "a b%ü&c"
        server = Database(folder)
        result = subprocess.run(
            ["psql", "--no-psqlrc", "--tuples-only", "--no-align", "--dbname", server.address, "--command", "SELECT 7"],
            capture_output=True, text=True, check=False)
        server.stop()
        assert result.stdout == "7\n", result.stderr
        refused = subprocess.run(
            [SCRIPT, "start", Path(name) / "it's"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert (refused.returncode, refused.stdout) == (69, "")
        assert "name one without" in refused.stderr
        assert [path.name for path in Path(name).iterdir()] == []


@pytest.mark.parametrize(
    "setting", ["port=23779", "PORT = 23779", "unix_socket_directories=/tmp", "listen_addresses=127.0.0.1"])
def test_a_throw_away_server_is_reached_by_its_folder_alone(tmp_path, setting):
    folder = tmp_path / "server"
    result = subprocess.run(
        [SCRIPT, "start", folder, "fsync=off", setting], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (69, "")
    assert f"leave {setting.split('=')[0]} out" in result.stderr
    assert not folder.exists()


def test_a_throw_away_server_without_its_database_does_not_run_on():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = subprocess.run(
            [SCRIPT, "start", folder, "default_transaction_read_only=on"], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, check=False)
        runs_on = (folder / "data" / "postmaster.pid").exists()
        (folder / "notes").write_text("mine", encoding="utf-8")
        subprocess.run([SCRIPT, "stop", folder], stdin=subprocess.DEVNULL, check=True)
    assert (result.returncode, result.stdout) == (69, "")
    assert "the database could not be made, and the server was ended" in result.stderr
    assert not runs_on


def test_a_throw_away_server_has_the_settings_of_its_last_start():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = Database(folder)
        programs = Path(server.script("programs").strip())

        def memory():
            return subprocess.run(
                [programs / "psql", server.address, "--tuples-only", "--no-align", "--command", "SHOW work_mem"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()

        def end():
            process = int((folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0])
            os.kill(process, signal.SIGINT)
            eventually(lambda: not (folder / "data" / "postmaster.pid").exists())

        def refuse(setting, words):
            result = subprocess.run(
                [SCRIPT, "start", folder, setting], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            assert (result.returncode, result.stdout) == (69, "") and words in result.stderr

        try:
            refuse("work_mem=7MB", "runs already")
            server.restart()
            assert memory() == "4MB"
            end()
            server.script("start", folder, "work_mem=5MB")
            server.restart()
            assert memory() == "5MB"
            end()
            refuse("work_mem=much", "invalid value for parameter")
            server.script("start", folder)
            assert memory() == "4MB"
        finally:
            server.stop()


def node_folder(parent, name, service):
    """A data folder with the session's keys, which are the same for all nodes."""
    folder = parent / name
    shutil.copytree(service.data / "service-accounts", folder / "service-accounts")
    return folder


# Token servers


def token_server(parent, name, service, database, settings=""):
    folder = node_folder(parent, name, service)
    (folder / "callers.json").write_text(callers(SECRET, roles=["driver"]), encoding="utf-8")
    (folder / "admins.json").write_text(callers(ADMIN), encoding="utf-8")
    return TokenServer(folder, settings, environment={"FLEETPASS_STORE_POSTGRESQL": database.address})


def fingerprint(token):
    return hashlib.sha256(token.encode()).hexdigest()[:16]


def exported(database):
    lines = run("audit", "export", "--store", database.address).stdout.decode().splitlines()
    return [json.loads(line)["record"].get("fingerprint") for line in lines]


def test_a_token_server_that_is_killed_leaves_one_whole_chain(tmp_path, service, database):
    nodes = [token_server(tmp_path, name, service, database) for name in ("a", "b")]
    given = [[] for _ in range(8)]
    stop = threading.Event()

    def ask(number):
        node = nodes[number % 2]
        with requests.Session() as session:
            while not stop.is_set():
                try:
                    answer = session.get(
                        f"{node.http}/token/driver/veh-{number}-{len(given[number])}",
                        headers={"Authorization": f"Bearer {SECRET}"}, timeout=30)
                except requests.RequestException:
                    return  # The node was killed.
                assert answer.status_code == 200, answer.text
                given[number].append(answer.json()["jwt"])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(1.5)
    nodes[0].process.kill()
    nodes[0].process.communicate()
    before = sum(map(len, given[1::2]))
    time.sleep(1)
    stop.set()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert sum(map(len, given[0::2])) > 0
    assert sum(map(len, given[1::2])) > before, "the other node went on"
    verdict = run("audit", "verify", "--store", database.address)
    assert verdict.returncode == 0, verdict.stderr
    kept = set(exported(database))
    assert [token for tokens in given for token in tokens if fingerprint(token) not in kept] == []
    nodes[1].stop()


def test_what_one_token_server_is_told_the_other_answers_by(tmp_path, service, database):
    nodes = [token_server(tmp_path, name, service, database) for name in ("a", "b")]
    token = nodes[0].get("/token/driver/veh-1").json()["jwt"]
    assert nodes[1].get("/token/driver/veh-2").status_code == 200
    result = run("revoke", "--store", database.address, "--fingerprint", fingerprint(token))
    assert result.returncode == 0, result.stderr
    assert fingerprint(token) in run("revoke", "--store", database.address).stdout.decode()
    holder = ["--holder", "idp/dora", "--vehicle", "veh-1"]
    assert run("assignments", "add", "--store", database.address, *holder).returncode == 0
    assert b"idp/dora vehicle=veh-1" in run("assignments", "list", "--store", database.address).stdout
    assert fingerprint(token) in exported(database)
    for node in nodes:
        code, _, errors = node.stop()
        assert code == 0, errors


def test_token_servers_outlive_their_database(tmp_path, service, database):
    node = token_server(tmp_path, "a", service, database)
    assert node.get("/token/driver/veh-1").status_code == 200
    restart = threading.Thread(target=database.restart)
    restart.start()
    deadline = time.monotonic() + 90
    statuses = []
    while restart.is_alive() or statuses[-1:] != [200]:
        assert time.monotonic() < deadline, statuses
        # Not as fast as it goes: nobody reads the server's log meanwhile, and a full pipe would hold it up.
        time.sleep(0.2)
        answer = requests.get(
            f"{node.http}/token/driver/veh-r{len(statuses)}", headers={"Authorization": f"Bearer {SECRET}"}, timeout=60)
        statuses.append(answer.status_code)
    assert set(statuses) <= {200, 503}
    assert node.get("/token/driver/veh-after").status_code == 200
    assert run("audit", "verify", "--store", database.address).returncode == 0
    code, _, errors = node.stop()
    assert code == 0, errors
    assert database.address not in errors


def test_a_database_that_cannot_be_used_is_told_without_its_password(tmp_path, service, database):
    wrong = database.address.replace("fleetpass@/fleetpass", "fleetpass:s3cret-word@/no_such_database")
    for arguments in (
        ["up", "--data", tmp_path / "up", "--port", "0", "--grpc-port", "0", "--store", wrong],
        ["audit", "verify", "--store", wrong],
        ["audit", "verify", "--store", "postgresql://fleetpass:s3cret-word%@:x/fleetpass"],
    ):
        result = run(*arguments)
        assert result.returncode == 78, result.stderr
        assert b"s3cret-word" not in result.stdout + result.stderr
    assert b"no_such_database" in run("audit", "verify", "--store", wrong).stderr


@pytest.mark.parametrize("address", [
    "postgresql://u:gehe/im@127.0.0.1:1/db", "postgresql://u:gehe@im@127.0.0.1:1/db",
    "postgresql://u:12/gehe@127.0.0.1:1/db", "postgresql://u:gehe/im", "postgresql+x://u:geheim@127.0.0.1:1/db",
    "postgresql://u:geheim@127.0.0.1:abc/db",
])
def test_a_malformed_address_is_a_configuration_error_that_repeats_nothing_of_it(tmp_path, address):
    for arguments in (
        ["up", "--data", tmp_path / "up", "--port", "0", "--grpc-port", "0"], ["audit", "verify"],
        ["revoke", "--subject", "s"],
    ):
        result = run(*arguments, "--store", address)
        assert result.returncode == 78, result.stderr
        assert b"is malformed; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE" in result.stderr
        for part in (b"gehe", b"im@", b"127.0.0.1"):
            assert part not in result.stdout + result.stderr
    assert not (tmp_path / "up").exists()


@pytest.mark.parametrize(
    "option", ["sslmode=x", "connect_timeout=abc", "target_session_attrs=foo", "service=none", "hostaddr=abc"])
def test_an_option_that_libpq_does_not_take_is_a_configuration_error(option):
    result = run("audit", "verify", "--store", f"postgresql://u:geheim@127.0.0.1:1/db?{option}")
    assert result.returncode == 78, result.stderr
    assert b"cannot be used: " in result.stderr and b"geheim" not in result.stderr


def test_a_database_that_does_not_answer_is_an_unreachable_service_and_told_once(tmp_path, service):
    away = "postgresql://fleetpass:s3cret-word@127.0.0.1:1/fleetpass"
    folder = node_folder(tmp_path, "node", service)
    (folder / "callers.json").write_text(callers(SECRET, roles=["driver"]), encoding="utf-8")
    (folder / "tokens.yaml").write_text(BASE, encoding="utf-8")
    trust_file(folder, "service-accounts")
    (folder / "engine.yaml").write_text(
        "providers: demo-fleet\ndata: .\ntrust: {files: trust.yaml}\n", encoding="utf-8")
    for arguments in (
        ["up", "--data", tmp_path / "up", "--port", "0", "--grpc-port", "0", "--store", away],
        ["serve", "tokens", "--config", folder / "tokens.yaml"],
        ["serve", "engine", "--config", folder / "engine.yaml"],
        ["audit", "verify", "--store", away],
        ["revoke", "--store", away],
        ["assignments", "list", "--store", away],
    ):
        result = run(
            *arguments, environment={
                "FLEETPASS_STORE_POSTGRESQL": away, "FLEETPASS_LISTEN_PORT": "0", "FLEETPASS_LISTEN_HTTP_PORT": "0",
                "FLEETPASS_LISTEN_GRPC_PORT": "0"})
        assert result.returncode == 69, result.stderr
        assert result.stderr.count(b"cannot be reached") == 1, result.stderr
        assert b"s3cret-word" not in result.stdout + result.stderr


def test_a_database_that_is_reached_over_a_network_without_a_check_is_told_once(tmp_path, service, database, distant):
    def told(program):
        code, _, errors = program.stop()
        assert code == 0, errors
        return [line for line in errors.splitlines() if "the way to the database is open to others" in line]

    def engine(name, store, revocations):
        folder = node_folder(tmp_path, name, service)
        trust_file(folder, "service-accounts")
        return EngineServer(
            folder, f'revocations: {{store: "{revocations.address}"}}\n',
            environment={"FLEETPASS_STORE_POSTGRESQL": store.address})

    assert told(token_server(tmp_path, "a", service, database)) == []
    assert told(engine("b", database, database)) == []
    up = Service(node_folder(tmp_path, "c", service), "--store", distant.address)
    for program in (
        token_server(tmp_path, "d", service, distant), engine("e", distant, distant), engine("f", database, distant), up,
    ):
        [line] = told(program)
        assert "warning" in line and "sslmode=prefer" in line and "sslmode=verify-full&sslrootcert=FILE" in line, line


@pytest.mark.parametrize("kind", ["tokens", "engine"])
def test_each_line_of_a_log_in_json_is_an_object_also_the_one_that_tells_why_it_failed(tmp_path, service, kind):
    folder = node_folder(tmp_path, "node", service)
    (folder / "callers.json").write_text(callers(SECRET, roles=["driver"]), encoding="utf-8")
    trust_file(folder, "service-accounts")
    (folder / "tokens.yaml").write_text(BASE, encoding="utf-8")
    (folder / "engine.yaml").write_text(
        "providers: demo-fleet\ndata: .\ntrust: {files: trust.yaml}\n", encoding="utf-8")
    result = run(
        "serve", kind, "--config", folder / f"{kind}.yaml", environment={
            "FLEETPASS_STORE_POSTGRESQL": "postgresql://fleetpass@127.0.0.1:1/fleetpass", "FLEETPASS_LISTEN_PORT": "0",
            "FLEETPASS_LISTEN_HTTP_PORT": "0", "FLEETPASS_LISTEN_GRPC_PORT": "0", "FLEETPASS_LOG_FORMAT": "json"})
    assert (result.returncode, result.stdout) == (69, b"")
    last = [json.loads(line) for line in result.stderr.splitlines()][-1]
    assert (last["level"], last["message"], last["exit_code"]) == ("critical", "the server failed", "69"), last
    assert "cannot be reached: " in last["problem"] and "\t" not in last["problem"], last
    assert "  " not in last["problem"] and "\\u0009" not in last["problem"], last


def test_a_database_that_is_busy_for_now_is_no_configuration_error(tmp_path, database):
    # Who makes tables holds this lock.
    holder = subprocess.Popen(
        ["psql", "--no-psqlrc", "--tuples-only", "--dbname", database.address], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True)
    try:
        holder.stdin.write("SELECT 'held' FROM pg_advisory_lock(7380385375773024627);\n")
        holder.stdin.flush()
        assert "held" in holder.stdout.readline()
        result = run("up", "--data", tmp_path / "up", "--port", "0", "--grpc-port", "0", "--store", database.address)
    finally:
        holder.kill()
        holder.communicate()
    assert result.returncode == 69, result.stderr
    assert b"55P03" in result.stderr


def test_a_change_to_a_database_that_can_only_be_read_is_told_with_a_next_step(tmp_path, service, database):
    token_server(tmp_path, "a", service, database).stop()
    subprocess.run(
        ["psql", "--no-psqlrc", "--dbname", database.address, "--command",
         "ALTER DATABASE fleetpass SET default_transaction_read_only = on"],
        check=True, capture_output=True)
    for arguments in (["assignments", "add", "--holder", "idp/dora", "--vehicle", "veh-1"], ["revoke", "--subject", "dora"]):
        result = run(*arguments, "--store", database.address)
        assert result.returncode == 69, result.stderr
        assert result.stderr.startswith(b"fleetpass: the store: PostgreSQL says: ")
        assert b"Name the server that takes changes" in result.stderr


@pytest.mark.parametrize("state, code, words, advice", [
    ("57P03", 69, b"cannot be reached", b"wait until it does"), ("53300", 69, b"cannot be reached", b"max_connections"),
    ("28P01", 78, b"lets nobody in", b"pg_hba.conf"), ("3D000", 78, b"lets nobody in", b"create what is missing"),
])
def test_a_server_that_refuses_is_understood_in_any_language(state, code, words, advice):
    text = f"SFATAL\0VFATAL\0C{state}\0Mgeht nicht\0\0".encode()

    def handle(connection):
        connection.rfile.read(struct.unpack("!i", connection.rfile.read(4))[0] - 4)
        connection.wfile.write(b"E" + struct.pack("!i", len(text) + 4) + text)

    with listening(handle) as port:
        result = run(
            "audit", "verify", "--store",
            f"postgresql://u:geheim@127.0.0.1:{port}/db?sslmode=disable&gssencmode=disable")
    assert result.returncode == code, result.stderr
    assert words in result.stderr and b"geht nicht" in result.stderr and b"geheim" not in result.stderr
    assert advice in result.stderr and b"firewall" not in result.stderr


def begin_encryption(connection):
    """Agrees to TLS, and hears how it begins."""
    connection.rfile.read(8)
    connection.wfile.write(b"S")
    connection.rfile.read(1)


def test_a_certificate_file_that_is_not_there_is_a_configuration_error():
    with listening(begin_encryption) as port:
        result = run(
            "audit", "verify", "--store",
            f"postgresql://u@127.0.0.1:{port}/db?sslmode=verify-full&gssencmode=disable&sslrootcert=/nonexistent")
    assert result.returncode == 78, result.stderr
    assert b"cannot be used: " in result.stderr and b"/nonexistent" in result.stderr


# Runs a program on a terminal of its own, where it could ask somebody.
ON_A_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"


@pytest.mark.parametrize("passphrase, code", [("", 78), ("&sslpassword=falsch", 78), ("&sslpassword=geheim", 69)])
def test_the_passphrase_of_a_key_is_the_address_s_and_nobody_is_asked_for_it(tmp_path, passphrase, code):
    certificate(tmp_path, "client", "DNS:client")
    openssl(tmp_path, "pkcs8", "-topk8", "-in", "client-key.pem", "-out", "locked-key.pem", "-passout", "pass:geheim")
    (tmp_path / "locked-key.pem").chmod(0o600)
    with listening(begin_encryption) as port:
        # With the right one, the connection breaks later.
        result = run(
            "audit", "search", "--store",
            f"postgresql://u@127.0.0.1:{port}/db?sslmode=require&gssencmode=disable"
            f"&sslcert={tmp_path}/client.pem&sslkey={tmp_path}/locked-key.pem{passphrase}",
            prefix=[sys.executable, "-c", ON_A_TERMINAL])
    assert result.returncode == code, result.stdout
    assert (b"could not load private key file" in result.stdout) == (code == 78), result.stdout
    for words in (b"pass phrase", b"geheim", b"falsch"):
        assert words not in result.stdout + result.stderr


def alert(number):
    """The record of TLS with which a server gives up."""
    return b"\x15\x03\x03\x00\x02\x02" + bytes([number])


@pytest.mark.parametrize("options, answers, words", [
    ("sslmode=require", [b"N"], b"server does not support SSL"),
    ("sslmode=require", [b"S", alert(48)], b"alert unknown ca"),
    ("sslmode=require", [b"S", alert(45)], b"alert certificate expired"),
    ("sslmode=require", [b"S", alert(70)], b"alert protocol version"),
    ("sslmode=disable&channel_binding=require", [b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0"], b"SSL not in use"),
])
def test_an_option_that_the_server_does_not_go_with_is_a_configuration_error(options, answers, words):
    def handle(connection):
        for answer in answers:
            connection.request.recv(65536)
            connection.wfile.write(answer)
        with contextlib.suppress(OSError):
            connection.rfile.read()

    with listening(handle) as port:
        result = run(
            "audit", "verify", "--store", f"postgresql://u:geheim@127.0.0.1:{port}/db?gssencmode=disable&{options}")
    assert result.returncode == 78, result.stderr
    assert b"cannot be used: " in result.stderr and words in result.stderr and b"geheim" not in result.stderr


def test_a_server_without_a_name_to_compare_with_its_certificate_is_a_configuration_error(tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(tmp_path, "database", "DNS:database"))

    def handle(connection):
        connection.request.recv(8)
        connection.wfile.write(b"S")
        with contextlib.suppress(OSError), context.wrap_socket(connection.request, server_side=True) as secured:
            secured.recv(1)

    with listening(handle) as port:
        result = run(
            "audit", "verify", "--store",
            f"postgresql://u@/db?hostaddr=127.0.0.1&port={port}&gssencmode=disable&sslmode=verify-full"
            f"&sslrootcert={tmp_path}/database.pem")
    assert result.returncode == 78, result.stderr
    assert b"cannot be used: " in result.stderr and b"host name must be specified" in result.stderr


def test_a_server_that_starts_is_waited_for_where_it_was_reached_without_encryption():
    text = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"

    def handle(connection):
        if connection.request.recv(65536).endswith(struct.pack("!i", 80877103)):
            connection.wfile.write(b"S")
            connection.request.recv(65536)
            connection.wfile.write(alert(70))
        else:
            connection.wfile.write(b"E" + struct.pack("!i", len(text) + 4) + text)
        with contextlib.suppress(OSError):
            connection.rfile.read()

    with listening(handle) as port:
        result = run("audit", "verify", "--store", f"postgresql://u@127.0.0.1:{port}/db?sslmode=prefer&gssencmode=disable")
    assert result.returncode == 69, result.stderr
    assert b"starting up" in result.stderr and b"alert protocol version" in result.stderr


# Engines


class RovingWriter:
    """One vehicle's driver: goes on with the next node when one is gone."""

    def __init__(self, vehicle, token):
        self.vehicle = vehicle
        self.token = token
        self.sent = 0
        self.acknowledged = 0
        self.moves = 0
        self.refusals = []

    def write(self, nodes, start, stop):
        position = start
        while not stop.is_set():
            address = urlsplit(nodes[position % len(nodes)].http)
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
            try:
                while not stop.is_set():
                    self.put(connection, nodes[0].provider)
            except (OSError, http.client.HTTPException):
                position += 1
                self.moves += 1
            finally:
                connection.close()

    def put(self, connection, provider):
        self.sent += 1
        path = f"/v1/providers/{provider}/vehicles/{self.vehicle}?updateMask=lastLocation"
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        body = json.dumps({"lastLocation": {"location": {"latitude": self.sent * STEP, "longitude": 0}}})
        connection.request("PUT", path, body, headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status == 200:
            self.acknowledged = self.sent
        elif answer.status == 503:
            time.sleep(0.05)
        else:
            self.refusals.append((answer.status, text[:300]))


def engines(parent, service, database, count):
    return [
        Service(node_folder(parent, f"node-{number}", service), "--store", database.address) for number in range(count)
    ]


def drive(nodes, service, disturb, vehicles=9):
    """Drives load on all nodes, disturbs it, and gives the writers once they ended."""
    token = service.mint("server")
    writers = []
    for number in range(vehicles):
        vehicle = f"vehicle-{number}"
        answer = nodes[number % len(nodes)].rest("POST", f"vehicles?vehicleId={vehicle}", token, json=vehicle_body())
        assert answer.status_code == 200, answer.text
        writers.append(RovingWriter(vehicle, service.mint("driver", vehicle=vehicle)))
    stop = threading.Event()
    threads = [
        threading.Thread(target=writer.write, args=(nodes, number, stop)) for number, writer in enumerate(writers)
    ]
    for thread in threads:
        thread.start()
    try:
        time.sleep(1.5)
        disturb()
        before = [writer.acknowledged for writer in writers]
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not all(w.acknowledged > b for w, b in zip(writers, before)):
            time.sleep(0.1)
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert [writer.refusals for writer in writers if writer.refusals] == []
    assert all(w.acknowledged > b for w, b in zip(writers, before)), "every client goes on"
    return writers


def engine_service(parent, name, service, database, settings=""):
    """An engine of its own, which holds no key, over the same database or over a file."""
    folder = node_folder(parent, name, service)
    trust_file(folder, "service-accounts")
    return EngineServer(folder, settings, environment={"FLEETPASS_REVOCATIONS_STORE": database.address})


def answers(engine, token, vehicle):
    """What a token meets over REST and over gRPC: `None` where it is taken, or the reason why not."""
    answer = engine.rest("GET", f"vehicles/{vehicle}", token)
    # There is no such vehicle, which is told to who may ask for it alone.
    over_rest = None if answer.status_code == 404 else refusal(answer)
    try:
        name = f"providers/{engine.provider}/vehicles/{vehicle}"
        with_token(engine, token).vehicles.get_vehicle(request={"name": name}, timeout=10, retry=None)
        raise AssertionError("a vehicle that nobody made was found")
    except exceptions.NotFound:
        over_grpc = None
    except exceptions.Unauthenticated as error:
        over_grpc = ("UNAUTHENTICATED", error.reason)
    return over_rest, over_grpc


TAKEN, WITHDRAWN = (None, None), (("UNAUTHENTICATED", "TOKEN_REVOKED"),) * 2


def test_engines_that_share_its_database_refuse_what_a_token_server_withdrew(tmp_path, service, database):
    server = token_server(tmp_path, "tokens", service, database, "admin: {callers_file: admins.json}\n")
    kinds = {
        "up": lambda: Service(node_folder(tmp_path, "up", service), "--store", database.address),
        "one database": lambda: engine_service(
            tmp_path, "one", service, database, f"store: {{postgresql: '{database.address}'}}\n"),
        "a file of its own": lambda: engine_service(tmp_path, "file", service, database),
    }
    nodes = {kind: start() for kind, start in kinds.items()}
    tokens = {f"veh-{number}": server.get(f"/token/driver/veh-{number}").json()["jwt"] for number in range(3)}

    def met():
        return {kind: [answers(node, tokens[vehicle], vehicle) for vehicle in tokens] for kind, node in nodes.items()}

    def within_five_seconds(expected):
        begun = time.monotonic()
        while met() != dict.fromkeys(nodes, expected):
            assert time.monotonic() - begun < 5, met()
            time.sleep(0.1)

    assert met() == dict.fromkeys(nodes, [TAKEN] * 3)
    # By a command, one token by its fingerprint.
    result = run("revoke", "--store", database.address, "--fingerprint", fingerprint(tokens["veh-0"]))
    assert result.returncode == 0, result.stderr
    within_five_seconds([WITHDRAWN, TAKEN, TAKEN])
    # By an administrator, all of a vehicle.
    answer = requests.post(
        f"{server.http}/admin/api/revocations", json={"kind": "vehicle", "value": "veh-1"},
        headers={"Authorization": f"Bearer {ADMIN}"}, timeout=10)
    assert answer.status_code == 200, answer.text
    within_five_seconds([WITHDRAWN, WITHDRAWN, TAKEN])

    # It stays so without the token server, and a node that starts knows it before it is asked.
    assert server.stop()[0] == 0
    assert nodes["one database"].stop()[0] == 0
    shutil.rmtree(tmp_path / "one")
    nodes["one database"] = kinds["one database"]()
    assert met() == dict.fromkeys(nodes, [WITHDRAWN, WITHDRAWN, TAKEN])
    for node in nodes.values():
        code, _, errors = node.stop()
        assert code == 0, errors


def test_an_engine_node_that_is_killed_under_load_loses_nothing_and_clients_go_on(tmp_path, service, database):
    nodes = engines(tmp_path, service, database, 3)
    writers = drive(nodes, service, nodes[0].kill)
    token = service.mint("server")
    assert sum(writer.moves > 0 for writer in writers) >= 3
    for node in nodes[1:]:
        for writer in writers:
            assert writer.acknowledged <= stored_count(node, token, writer.vehicle) <= writer.sent
    for node in nodes[1:]:
        code, _, errors = node.stop()
        assert code == 0, errors


def test_engine_nodes_outlive_their_database(tmp_path, service, database):
    nodes = engines(tmp_path, service, database, 2)
    writers = drive(nodes, service, database.restart)
    token = service.mint("server")
    # Its writers may be back while its readers still wait before they try again.
    eventually(lambda: nodes[0].rest("GET", "vehicles/vehicle-0", token).status_code == 200, 30)
    for writer in writers:
        assert writer.acknowledged <= stored_count(nodes[0], token, writer.vehicle) <= writer.sent
    for node in nodes:
        code, _, errors = node.stop()
        assert code == 0, errors


def test_up_is_not_ready_while_its_database_says_nothing(tmp_path, service, database):
    (node,) = engines(tmp_path, service, database, 1)

    def ready():
        return requests.get(f"{node.http}/readyz", timeout=30)

    eventually(lambda: ready().status_code == 200, 60)
    database.signal(signal.SIGSTOP)
    try:
        # The very first answer: the engine is asked anew for each.
        answer = ready()
        assert answer.status_code == 503
        assert "store: the store did not answer within" in answer.text
    finally:
        database.signal(signal.SIGCONT)
    eventually(lambda: ready().status_code == 200, 60)
    code, _, errors = node.stop()
    assert code == 0, errors
