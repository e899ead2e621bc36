# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Tokens that IAM signs for the machine's own account: no key file near the program, and the engine takes them."""

import contextlib
import hashlib
import json
import os
import pathlib
import select
import signal
import subprocess
import time

import jwt
import pytest

from service import INTERRUPTIBLE, UNINTERRUPTIBLE, run
from stand_ins import GoogleServer


@pytest.fixture
def google(service):
    server = GoogleServer(service.account("driver"))
    yield server
    server.stop()


def mint(google, tmp_path, account, *options):
    address = google.host
    return run(
        "mint", "--impersonate", account, "--role", "driver", "--vehicle", "veh-iam", *options,
        environment={
            "GCE_METADATA_HOST": address,
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_IAMCREDENTIALS": f"http://{address}/",
            "CLOUDSDK_CONFIG": str(tmp_path),
        },
        timeout=120,
    )


def test_the_engine_takes_a_token_that_iam_signed(service, google, tmp_path):
    account = service.account("driver")
    result = mint(google, tmp_path, account["client_email"], "--output", "json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["keyID"] == account["private_key_id"]
    claims = jwt.decode(report["token"], options={"verify_signature": False})
    assert claims["iss"] == claims["sub"] == account["client_email"]
    assert abs(claims["iat"] - time.time()) < 900
    server_token = service.mint("server", vehicle="veh-iam")
    service.rest(
        "POST", "vehicles?vehicleId=veh-iam", server_token,
        json={"vehicleState": "OFFLINE", "supportedTripTypes": ["EXCLUSIVE"], "maximumCapacity": 4,
              "vehicleType": {"category": "AUTO"}},
    )
    assert service.rest("GET", "vehicles/veh-iam", report["token"]).status_code == 200
    assert any("signJwt" in path for path in google.seen)


def test_an_account_that_may_not_be_impersonated_is_named(google, tmp_path):
    result = mint(google, tmp_path, "stranger@demo-fleet.iam.gserviceaccount.com")
    assert result.returncode == 78
    assert "stranger@demo-fleet.iam.gserviceaccount.com" in result.stderr.decode()
    assert "machine-token" not in result.stderr.decode()


def test_an_iam_that_is_down_is_told_from_one_that_refuses(service, google, tmp_path):
    google.fault = (503, "UNAVAILABLE")
    assert mint(google, tmp_path, service.account("driver")["client_email"]).returncode == 69


class HangingProgram:
    """A credential program that never answers, and a pipe that it and what it starts hold open as long as they live."""

    def __init__(self, google, folder, seconds):
        lifeline = folder / "lifeline"
        os.mkfifo(lifeline)
        self.reader = os.open(lifeline, os.O_RDONLY | os.O_NONBLOCK)
        self.written = b""
        self.ended = False
        script = 'exec 3>"$LIFELINE"; echo $$ >&3; sleep 600; true'
        (folder / "credentials.json").write_text(json.dumps({
            "type": "external_account",
            "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/p",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": "https://sts.googleapis.com/v1/token",
            "credential_source": {
                "executable": {"command": f"/bin/sh -c '{script}'", "timeout_millis": seconds * 1000}},
        }))
        self.environment = {
            "GOOGLE_APPLICATION_CREDENTIALS": str(folder / "credentials.json"),
            "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES": "1",
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_IAMCREDENTIALS": f"http://{google.host}/",
            "LIFELINE": str(lifeline),
        }

    def read(self, *, until):
        """Takes what the program wrote, until that holds or nothing more comes."""
        while not until() and select.select([self.reader], [], [], 100)[0]:
            part = os.read(self.reader, 4096)
            self.written += part
            self.ended = not part

    def runs(self, command):
        """Waits until the command has started the program, or says what became of the command instead."""
        self.read(until=lambda: self.written)
        if not self.written:
            status = command.poll()
            threads = sorted(pathlib.Path(f"/proc/{command.pid}/task").glob("*/wchan"))
            waits = [thread.read_text(encoding="ascii") for thread in threads]
            command.kill()
            pytest.fail(f"the program does not run; the command: {status}, {waits}, {command.communicate()}")

    def close(self):
        os.close(self.reader)
        if self.written and not self.ended:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(int(self.written.split()[-1]), signal.SIGKILL)


IMPERSONATING = ["mint", "--impersonate", "a@b.iam.gserviceaccount.com", "--role", "driver", "--vehicle", "veh-iam"]


def test_a_credential_program_that_hangs_is_named_and_ends_with_the_command(google, tmp_path):
    with contextlib.closing(HangingProgram(google, tmp_path, seconds=5)) as program:
        result = run(*IMPERSONATING, environment=program.environment, timeout=120)
        assert result.returncode == 69, result.stderr
        assert "/bin/sh" in result.stderr.decode()
        assert "IAM credentials service" not in result.stderr.decode()
        assert google.seen == []
        program.read(until=lambda: program.ended)
        assert program.written, "the program ran"
        assert program.ended, "the program goes on without the command"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("arguments", [IMPERSONATING, ["doctor"]], ids=["mint", "doctor"])
def test_a_credential_program_ends_with_a_command_that_is_interrupted(google, tmp_path, arguments, number):
    with contextlib.closing(HangingProgram(google, tmp_path, seconds=120)) as program:
        command = subprocess.Popen(
            [*INTERRUPTIBLE, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=os.environ | program.environment)
        try:
            program.runs(command)
            command.send_signal(number)
            output, errors = command.communicate(timeout=30)
        finally:
            command.kill()
        assert (command.returncode, output, errors) == (-number, b"", b"")
        program.read(until=lambda: program.ended)
        assert program.ended, "the program goes on without the command"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_credential_program_ends_with_a_server_that_is_interrupted_before_it_listens(google, tmp_path, number):
    (tmp_path / "callers.json").write_text(json.dumps(
        {"callers": [{"name": "app", "secret_sha256": hashlib.sha256(b"s").hexdigest(), "roles": ["driver"]}]}))
    (tmp_path / "tokens.yaml").write_text(
        "provider: demo-fleet\ndata: .\nlisten: {port: 0}\ncallers: {file: callers.json}\n"
        "signers: {driver: {account: a@b.iam.gserviceaccount.com}}\n")
    with contextlib.closing(HangingProgram(google, tmp_path, seconds=120)) as program:
        command = subprocess.Popen(
            [*INTERRUPTIBLE, "serve", "tokens", "--config", tmp_path / "tokens.yaml"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=os.environ | program.environment)
        try:
            program.runs(command)
            command.send_signal(number)
            output, errors = command.communicate(timeout=60)
        finally:
            command.kill()
        assert (command.returncode, output) == (0, b""), errors
        program.read(until=lambda: program.ended)
        assert program.ended, "the program goes on without the server"


NAMESPACE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_process_of_a_container_ends_when_it_is_interrupted(google, tmp_path, number):
    if subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no process namespaces here")
    with contextlib.closing(HangingProgram(google, tmp_path, seconds=120)) as program:
        command = subprocess.Popen(
            [*NAMESPACE, *INTERRUPTIBLE, *IMPERSONATING], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=os.environ | program.environment)
        try:
            program.runs(command)
            # Its number is one of the namespace, and another's here.
            program.written = b""
            first = pathlib.Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text(encoding="ascii")
            os.kill(int(first), number)
            output, errors = command.communicate(timeout=30)
        finally:
            command.kill()
        assert (command.returncode, output, errors) == (128 + number, b"", b"")


def test_an_interrupt_that_is_ignored_stays_so(google, tmp_path):
    with contextlib.closing(HangingProgram(google, tmp_path, seconds=5)) as program:
        command = subprocess.Popen(
            [*UNINTERRUPTIBLE, *IMPERSONATING], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=os.environ | program.environment)
        try:
            program.runs(command)
            command.send_signal(signal.SIGINT)
            _, errors = command.communicate(timeout=120)
        finally:
            command.kill()
        # What ends it is the time that the program may take.
        assert command.returncode == 69, errors
        program.read(until=lambda: program.ended)


def test_what_was_looked_for_is_listed_when_there_are_no_credentials(tmp_path):
    result = run(
        "mint", "--impersonate", "a@b.iam.gserviceaccount.com", "--role", "driver", "--vehicle", "v",
        environment={"CLOUDSDK_CONFIG": str(tmp_path)}, timeout=120,
    )
    assert result.returncode in (69, 78)
    for step in ["GOOGLE_APPLICATION_CREDENTIALS", "gcloud", "metadata"]:
        assert step in result.stderr.decode()


def test_a_key_file_and_an_account_to_impersonate_exclude_each_other():
    for options in [[], ["--key", "k.json", "--impersonate", "a@b"], ["--key", "k.json", "--delegate", "a@b"]]:
        assert run("mint", "--role", "driver", "--vehicle", "v", *options).returncode == 2
