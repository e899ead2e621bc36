# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""A token server for tests: counts what it is asked, passes /up/ on to a real one, and misbehaves under /chaos/.

What /chaos/token/KIND/ID does is told by the first word of ID: short-, slow-, refused-, forbidden-, busy-, broken-,
other-, text-, hang-, session- or ahead- (by 20 minutes); any other gets a good token at once. GET /counts/PATH tells
how often PATH was asked for.
"""

import base64
import collections
import http.server
import json
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

REAL = sys.argv[1]
CLAIMS = {
    "driver": "vehicleid", "consumer": "tripid", "delivery_driver": "deliveryvehicleid",
    "delivery_consumer": "trackingid",
}
counts = collections.Counter()
serial = 0
lock = threading.Lock()
stopping = threading.Event()


def segment(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def token(kind, identifier, life):
    """A token in the right form; its signature is none, as clients do not check it."""
    global serial
    with lock:
        serial += 1
        number = serial
    now = int(time.time())
    claims = {
        "iss": "test@example.com", "sub": "test@example.com", "aud": "https://fleetengine.googleapis.com/",
        "iat": now, "exp": now + life, "jti": str(number), "authorization": {CLAIMS[kind]: identifier},
    }
    return ".".join([segment({"alg": "RS256", "typ": "JWT", "kid": "k"}), segment(claims), "c2lnbmF0dXJl"])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", headers=(), ahead=0):
        self.send_response_only(status)
        self.send_header("Date", self.date_time_string(time.time() + ahead))
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = urllib.parse.unquote(self.path.partition("?")[0])
        if path.startswith("/counts/"):
            with lock:
                count = counts[path.removeprefix("/counts")]
            return self.answer(200, str(count).encode())
        with lock:
            counts[path] += 1
        if path.startswith("/up/"):
            return self.forward()
        return self.misbehave(*path.split("/")[-2:])

    def forward(self):
        request = urllib.request.Request(REAL + self.path.removeprefix("/up"))
        if "Authorization" in self.headers:
            request.add_header("Authorization", self.headers["Authorization"])
        try:
            with urllib.request.urlopen(request) as answer:
                self.answer(answer.status, answer.read())
        except urllib.error.HTTPError as error:
            self.answer(error.code, error.read())

    def misbehave(self, kind, identifier):
        word = identifier.partition("-")[0]
        life = 4 if word == "short" else 3600
        match word:
            case "refused":
                return self.answer(401, b"{}")
            case "forbidden":
                return self.answer(403, b"{}")
            case "busy":
                return self.answer(429, b"{}", [("Retry-After", "7")])
            case "broken":
                return self.answer(500)
            case "text":
                return self.answer(200, b"all is well")
            case "hang":
                return stopping.wait(60)
            case "slow":
                time.sleep(0.5)
            case "other":
                identifier = "another"
            case "session":
                if self.headers.get("X-Session") != "the-session":
                    return self.answer(401, b"{}")
        body = {"jwt": token(kind, identifier, life), "expires_in": life}
        body["token"] = body["jwt"]
        self.answer(200, json.dumps(body).encode(), ahead=1200 if word == "ahead" else 0)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass  # A client that hangs up early is part of the tests.


server = Server(("127.0.0.1", 0), Handler)
print(f"ready http=http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
