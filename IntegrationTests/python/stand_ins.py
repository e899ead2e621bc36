# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for Google's services: the metadata server, IAM Credentials, and the published keys."""

import base64
import http.server
import json
import threading

import jwt
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding


class Google(http.server.BaseHTTPRequestHandler):
    """The services as far as signing needs them; the server's `fault` is what IAM answers instead, if anything."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json"):
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, status, word, *reasons):
        details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason} for reason in reasons]
        self.answer(status, {"error": {"code": status, "message": "no", "status": word, "details": details}})

    def do_GET(self):
        self.server.seen.append(self.path)
        if self.path.startswith("/service_accounts/v1/jwk/"):
            key = self.server.keys.get(self.path.rpartition("/")[2])
            self.answer(200, {"keys": [public_jwk(key)] if key else []})
        elif self.headers.get("Metadata-Flavor") != "Google":
            self.answer(403, "metadata flavor is missing", "text/plain")
        elif self.path.split("?")[0].endswith("/token"):
            self.answer(200, {"access_token": "machine-token", "expires_in": 3599, "token_type": "Bearer"})
        elif self.path.endswith("/email"):
            self.answer(200, self.server.machine, "text/plain")
        elif "universe" in self.path:
            self.answer(200, "googleapis.com", "text/plain")
        elif self.path.endswith("/project-id"):
            self.answer(200, "demo-fleet", "text/plain")
        else:
            self.answer(200, "", "text/plain")

    def do_POST(self):
        self.server.seen.append(self.path)
        account, _, verb = self.path.rpartition("/")[2].partition(":")
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.server.keys.get(account)
        if self.server.fault:
            self.refuse(*self.server.fault)
        elif self.headers.get("Authorization") != "Bearer machine-token" or key is None:
            self.refuse(403, "PERMISSION_DENIED", "IAM_PERMISSION_DENIED")
        elif verb == "signJwt":
            signed = jwt.encode(
                json.loads(body["payload"]), key["private_key"], algorithm="RS256",
                headers={"kid": key["private_key_id"]})
            self.answer(200, {"keyId": key["private_key_id"], "signedJwt": signed})
        elif verb == "signBlob":
            private = serialization.load_pem_private_key(key["private_key"].encode(), None)
            signature = private.sign(base64.b64decode(body["payload"]), padding.PKCS1v15(), hashes.SHA256())
            self.answer(200, {"keyId": key["private_key_id"], "signedBlob": base64.b64encode(signature).decode()})
        else:
            self.refuse(404, "NOT_FOUND")


def public_jwk(key):
    public = serialization.load_pem_private_key(key["private_key"].encode(), None).public_key()
    jwk = jwt.algorithms.RSAAlgorithm.to_jwk(public, as_dict=True)
    return jwk | {"kid": key["private_key_id"], "alg": "RS256", "use": "sig"}


class GoogleServer(http.server.ThreadingHTTPServer):
    """Runs the stand-in on this machine, with the keys of some accounts."""

    daemon_threads = True

    def __init__(self, *accounts, handler=Google):
        super().__init__(("127.0.0.1", 0), handler)
        self.seen = []
        self.fault = None
        self.machine = "machine@demo-fleet.iam.gserviceaccount.com"
        self.keys = {account["client_email"]: account for account in accounts}
        self.host = f"127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()


class Questions(http.server.BaseHTTPRequestHandler):
    """Grants what it is asked for once as many ask as its server waits for, and refuses none."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        try:
            self.server.together.wait()
            status, body = 200, b'{"decision": "grant"}'
        except threading.BrokenBarrierError:
            status, body = 503, b""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Webhook(http.server.ThreadingHTTPServer):
    """A policy's webhook on this machine that answers nobody before `count` ask at once, for some seconds."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, count):
        super().__init__(("127.0.0.1", 0), Questions)
        self.together = threading.Barrier(count, timeout=8)
        self.url = f"http://127.0.0.1:{self.server_port}/may"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Documents(http.server.BaseHTTPRequestHandler):
    """Asks its server what to answer."""

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, document, fields = self.server.answer(self.path)
        body = document.encode() if isinstance(document, str) else json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **fields}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def log_message(self, *_):
        pass


class DocumentServer(http.server.ThreadingHTTPServer):
    """Serves on this machine what `answer(path)` gives: a status, a document or its text, and header fields."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Documents)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()
