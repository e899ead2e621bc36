# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""An engine for tests that takes every update of a vehicle but those that set it offline."""

import http.server
import json


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_PUT(self):
        update = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_refused = update["vehicleState"] == "OFFLINE"
        name = self.path.partition("?")[0].removeprefix("/v1/")
        body = b"{}" if is_refused else json.dumps({"name": name}).encode()
        self.send_response_only(503 if is_refused else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"ready http=http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
