# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven over the DevTools protocol."""

import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import websocket

from service import Service

PROGRAM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page in a browser of its own, which ends with the `with` block."""

    def __init__(self, profile, *, dark=False, width=1200, height=900):
        arguments = [
            PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--hide-scrollbars", "--disable-background-networking", "--remote-debugging-port=0",
            f"--user-data-dir={profile}", f"--window-size={width},{height}", "about:blank",
        ]
        if dark:
            arguments.insert(1, "--force-dark-mode")
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        Service._started.append(self.process)
        # Chromium writes where it listens when it does.
        address, deadline = Path(profile) / "DevToolsActivePort", time.monotonic() + 60
        while not address.exists() or address.read_text(encoding="ascii").count("\n") < 1:
            assert self.process.poll() is None and time.monotonic() < deadline, "Chromium does not start"
            time.sleep(0.05)
        port, path = address.read_text(encoding="ascii").split()
        self.socket = websocket.create_connection(f"ws://127.0.0.1:{port}{path}", timeout=30, suppress_origin=True)
        self._number = 0
        self._session = None
        #: What the page wrote to its console, policy violations among it.
        self.console = []
        #: Every request of the page: method, address, body.
        self.requests = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def call(self, method, **parameters):
        """One command of the protocol, and its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._note(answer)

    def _note(self, event):
        parameters = event.get("params", {})
        match event.get("method"):
            case "Log.entryAdded":
                self.console.append(parameters["entry"]["text"])
            case "Runtime.exceptionThrown":
                self.console.append(json.dumps(parameters["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.console.append(json.dumps(parameters["args"]))
            case "Network.requestWillBeSent":
                request = parameters["request"]
                self.requests.append((request["method"], request["url"], request.get("postData", "")))

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def value(self, script):
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait(self, script, seconds=20):
        """Waits until an expression in the page holds."""
        deadline = time.monotonic() + seconds
        while not self.value(f"!!({script})"):
            assert time.monotonic() < deadline, f"{script} does not hold; the page: {self.text()[:3000]}; {self.console}"
            time.sleep(0.05)

    def text(self):
        """What a person reads on the page."""
        return self.value("document.body.innerText")

    def focus(self, selector):
        self.value(f"document.querySelector({json.dumps(selector)}).focus()")

    def type(self, text):
        """Types into what has the focus."""
        self.call("Input.insertText", text=text)

    def press(self, key, code=None, modifiers=0):
        """Presses and releases a key such as Enter, Tab or Space."""
        codes = {"Enter": 13, "Tab": 9, " ": 32, "Escape": 27}
        common = {
            "key": key, "code": code or {" ": "Space"}.get(key, key), "windowsVirtualKeyCode": codes.get(key, 0),
            "modifiers": modifiers,
        }
        text = {"Enter": "\r", " ": " "}.get(key)
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def screenshot(self, path):
        """The whole page as a PNG file, once it is painted."""
        self.value("scrollTo(0, 0); new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        image = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(image))
