# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Credentials that read files and run programs: `doctor` asks with them for what google-auth asks for."""

import base64
import http.server
import json
import threading
import time

import pytest
from google.auth import iam

from service import run
from test_credentials import ACCOUNT, ALLOWED, CASES, SCOPES, Recorder, compared, external, loaded, set_variables

IAM_SCOPE = "https://www.googleapis.com/auth/iam"


class Relay(http.server.BaseHTTPRequestHandler):
    """Answers the program as google-auth is answered; where a request was meant to go begins its path."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = self.server.recorder(f"https:/{self.path}", "POST", body, dict(self.headers))
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(answer.data)))
        self.end_headers()
        self.wfile.write(answer.data)

    def do_GET(self):
        # The clock is asked for, and published keys, which google-auth has no use for.
        self.send_error(404)

    def log_message(self, *_):
        pass


@pytest.fixture
def relay():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Relay)
    server.recorder = Recorder()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def token_file(text, **source):
    def file(folder):
        (folder / "subject").write_text(text, encoding="utf-8")
        return external({"file": str(folder / "subject"), **source})

    return file


def program(shell, remembered=None):
    """An account whose token is the number of the run; `OUTPUT` is where answers are kept, `ANSWER` is this run's."""

    def answer(token, seconds=600):
        return json.dumps({
            "version": 1, "success": True, "token_type": "urn:ietf:params:oauth:token-type:jwt", "id_token": token,
            "expiration_time": int(time.time()) + seconds,
        })

    def file(folder):
        script = folder / "program.sh"
        runs, output = folder / "runs", folder / "answer.json"
        text = answer("run %s").replace('"', '\\"')
        script.write_text(
            f"echo >> {runs}\nRUN=$(wc -l < {runs})\nANSWER=$(printf \"{text}\" $RUN)\nOUTPUT={output}\n{shell}\n",
            encoding="utf-8")
        if remembered is not None:
            output.write_text(answer("remembered", remembered), encoding="utf-8")
        return external({"executable": {"command": f"/bin/sh {script}", "output_file": str(output)}})

    return file


SAY = 'echo "$ANSWER"'
# What is written into the folder of each library, the runs of a program that this leads to, and variables.
CASES_ON_DISK = {
    "file-text": (token_file("subject token\n"), 0, {}),
    "file-named-text": (token_file('{"token": "all of it"}', format={"type": "text"}), 0, {}),
    "file-json": (
        token_file(
            '{"other": 1, "id": "subject token"}', format={"type": "json", "subject_token_field_name": "id"}),
        0, {},
    ),
    # Each token is fetched for two sets of scopes.
    "program-that-keeps-nothing": (program(SAY), 2, {}),
    "program-that-also-keeps": (program(f"{SAY} | tee $OUTPUT"), 1, {}),
    "program-that-only-keeps": (program(f"{SAY} > $OUTPUT"), 1, {}),
    "program-remembered": (program("exit 1", remembered=600), 0, {}),
    "program-remembered-too-long": (program(f"{SAY} > $OUTPUT", remembered=-60), 1, {}),
    "quota-of-file": (lambda folder: token_file("subject token")(folder) | {"quota_project_id": "billed"}, 0, {}),
    "quota-of-variable": (
        lambda folder: token_file("subject token")(folder) | {"quota_project_id": "billed"},
        0, {"GOOGLE_CLOUD_QUOTA_PROJECT": "billed-instead"},
    ),
    # A project that the account's own file names is Fleetpass's alone: google-auth reads it for all other types.
    "quota-of-service-account": (
        lambda folder: CASES["service-account"], 0, {"GOOGLE_CLOUD_QUOTA_PROJECT": "billed"}),
}


def asked_by_doctor(folder, file, variables, relay):
    """What the program asks for when it examines a signer that uses these credentials."""
    (folder / "credentials.json").write_text(json.dumps(file), encoding="utf-8")
    (folder / "data").mkdir(mode=0o700)
    (folder / "callers.json").write_text('{"callers": []}', encoding="utf-8")
    hosts = {"iam": "iamcredentials", "sts": "sts", "oauth": "oauth2", "keys": "www"}
    settings = {
        "provider": "demo-fleet", "data": "data", "callers": {"file": "callers.json"},
        "signers": {"driver": {"account": ACCOUNT, "ways": "sign_blob"}},
        "google": {"endpoints": {
            name: f"http://127.0.0.1:{relay.server_port}/{host}.googleapis.com" for name, host in hosts.items()}},
    }
    (folder / "tokens.yaml").write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML.
    run(
        "doctor", "--config", folder / "tokens.yaml",
        environment={**ALLOWED, **variables, "GOOGLE_APPLICATION_CREDENTIALS": str(folder / "credentials.json")})
    return relay.recorder.requests


def asked_by_google_auth(file, payloads):
    """The same with google-auth: a token for the cloud, one for signing, and the signatures."""
    recorder = Recorder()
    loaded(file, SCOPES[:1]).refresh(recorder)
    signer = iam.Signer(recorder, loaded(file, [IAM_SCOPE]), ACCOUNT)
    for payload in payloads:
        signer.sign(base64.b64decode(payload))
    return recorder.requests


@pytest.mark.parametrize("name", CASES_ON_DISK)
def test_the_program_asks_for_what_google_auth_asks_for(name, tmp_path, relay, monkeypatch):
    make, runs, variables = CASES_ON_DISK[name]
    for library in ("ours", "theirs"):
        (tmp_path / library).mkdir()
    set_variables(variables, monkeypatch)
    ours = asked_by_doctor(tmp_path / "ours", make(tmp_path / "ours"), variables, relay)
    payloads = [json.loads(request["body"])["payload"] for request in ours if request["url"].endswith(":signBlob")]
    assert payloads
    expected = asked_by_google_auth(make(tmp_path / "theirs"), payloads)
    assert compared(ours) == compared(expected)
    for library in ("ours", "theirs"):
        written = tmp_path / library / "runs"
        assert (len(written.read_bytes()) if written.exists() else 0) == runs
