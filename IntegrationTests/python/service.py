# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""A running `fleetpass up`, and what the tests ask of the program."""

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
from pathlib import Path

import requests

PROGRAM = os.environ.get("FLEETPASS", "fleetpass")

# A command that heeds an interrupt, though who runs the tests may ignore it, as a script's background does, and one
# that does not. `env` sets it, not `preexec_fn`: what runs in a fork of this process meets the threads of gRPC.
INTERRUPTIBLE = ["env", "--default-signal=INT,TERM", PROGRAM]
UNINTERRUPTIBLE = ["env", "--ignore-signal=INT", PROGRAM]

PROVIDER = "demo-fleet"
AUDIENCE = "https://fleetengine.googleapis.com/"
READY = re.compile(
    r"^ready http=(?P<http>http://127\.0\.0\.1:\d+) grpc=(?P<grpc>127\.0\.0\.1:\d+) "
    r"provider=(?P<provider>\S+) data=(?P<data>.+)$"
)


def run(*arguments, stdin=b"", timeout=60, environment=None, prefix=()):
    """Runs the program to its end, by another one in front of it where there is a prefix.

    A crash is a failure in every test.
    """
    result = subprocess.run(
        [*prefix, PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, timeout=timeout, check=False,
        env=os.environ | (environment or {}),
    )
    assert 0 <= result.returncode < 128, f"{arguments} ended with {result.returncode}: {result.stderr[-2000:]!r}"
    return result


def on_terminal(use, columns=80):
    """What a terminal of a width gets, which `use` hands to a command and waits for its end."""
    reading, writing = pty.openpty()
    shown = b""
    try:
        fcntl.ioctl(writing, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        use(writing)
        os.close(writing)
        # A terminal whose other end is closed ends with an error.
        with contextlib.suppress(OSError):
            while chunk := os.read(reading, 4096):
                shown += chunk
    finally:
        os.close(reading)
    return shown


class Program:
    """The program as it serves, from its ready line to its end."""

    # How long it may take to end, in seconds.
    patience = 30
    _started = []

    @classmethod
    def kill_all(cls):
        """Ends what a failed test left running."""
        for process in cls._started:
            if process.poll() is None:
                process.kill()

    def __init__(self, pattern, *arguments, environment=None):
        self.process = subprocess.Popen(
            [PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=environment)
        self._started.append(self.process)
        # One that never gets ready is killed, which ends the reading below.
        watchdog = threading.Timer(300, self.process.kill)
        watchdog.start()
        line = self.process.stdout.readline().rstrip("\n")
        watchdog.cancel()
        self.ready = pattern.match(line)
        if not self.ready:
            self.process.kill()
            _, errors = self.process.communicate()
            raise AssertionError(f"no ready line but {line!r}; stderr: {errors}")
        self.http = self.ready["http"]

    def stop(self):
        """Ends it as a supervisor does; gives the exit code and what else it wrote."""
        self.process.send_signal(signal.SIGTERM)
        try:
            output, errors = self.process.communicate(timeout=self.patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, output, errors

    def kill(self):
        """Ends it as a power cut does."""
        self.process.kill()
        self.process.communicate()


class Engine(Program):
    """A program that serves the engine's REST interface."""

    def __init__(self, pattern, *arguments, environment=None):
        super().__init__(pattern, *arguments, environment=environment)
        self.grpc = self.ready["grpc"]
        self.provider = self.ready["provider"]

    def rest(self, verb, path, token=None, **options):
        """A call of the engine's REST interface below the provider."""
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        return requests.request(
            verb, f"{self.http}/v1/providers/{self.provider}/{path}",
            headers=headers | options.pop("headers", {}), timeout=30, **options
        )


class Service(Engine):
    """One `fleetpass up` or `demo`."""

    def __init__(self, data, *options, command="up", port=0, environment=None):
        super().__init__(
            READY, command, "--data", data, "--port", port, "--grpc-port", "0", *options,
            environment=os.environ | (environment or {}))
        self.data = Path(self.ready["data"])

    def key_file(self, role):
        return self.data / "service-accounts" / f"{role}.json"

    def account(self, role):
        return json.loads(self.key_file(role).read_text(encoding="utf-8"))

    def mint(self, role, **ids):
        """A token from the program's own `mint`."""
        options = [text for name, value in ids.items() for text in (f"--{name.replace('_', '-')}", value)]
        result = run("mint", "--key", self.key_file(role), "--role", role, *options)
        assert result.returncode == 0, result.stderr
        return result.stdout.decode().strip()


def refusal(answer):
    """The status word and reason in the error envelope of an answer."""
    error = answer.json()["error"]
    assert error["code"] == answer.status_code
    assert error["message"]
    (detail,) = error["details"]
    assert detail["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    return error["status"], detail["reason"]
