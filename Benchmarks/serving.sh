# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Shared by minting.sh and overload.sh: a token server with a fresh key on core 0, the load on core 1.
# Sets $fleetpass, $load, $work and $secret, and takes in measuring.sh.

. ./measuring.sh
command -v openssl >/dev/null || { echo "needs openssl" >&2; exit 69; }
(cd .. && swift build -c release --product fleetpass) >&2
fleetpass=$(cd .. && swift build -c release --show-bin-path)/fleetpass
swift build -c release --product http-load >&2
load=$(swift build -c release --show-bin-path)/http-load

work=$(mktemp -d)
servers=()
finish() {
  for server in "${servers[@]}"; do kill "$server" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

secret=$(openssl rand -hex 32)
mkdir -m 700 "$work/keys" "$work/data"
openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 2>/dev/null >"$work/key.pem" \
  || openssl genrsa 2048 >"$work/key.pem" 2>/dev/null
python3 - "$work" "$secret" <<'PY'
import hashlib
import json
import pathlib
import sys

work, secret = pathlib.Path(sys.argv[1]), sys.argv[2]
key = {"type": "service_account", "project_id": "bench", "private_key_id": "bench-key",
       "private_key": (work / "key.pem").read_text(), "client_email": "driver@bench.iam.gserviceaccount.com"}
(work / "keys/driver.json").write_text(json.dumps(key))
caller = {"name": "bench", "secret_sha256": hashlib.sha256(secret.encode()).hexdigest(), "roles": ["driver"]}
(work / "callers.json").write_text(json.dumps({"callers": [caller]}))
(work / "tokens.yaml").write_text(
    "provider: bench\ndata: data\nkeys: keys\nlisten:\n  port: 0\ncallers:\n  file: callers.json\nlog:\n  level: warning\n")
PY
rm "$work/key.pem"

# Starts a server on core 0 and waits for its ready line; sets $port and $pid.
serve() {
  local name=$1 line
  shift
  mkfifo "$work/$name.ready"
  taskset -c 0 "$@" >"$work/$name.ready" 2>"$work/$name.log" &
  pid=$!
  servers+=("$pid")
  exec {ready}<"$work/$name.ready"
  read -r -t 30 -u "$ready" line || { cat "$work/$name.log" >&2; exit 1; }
  port=${line#*127.0.0.1:}
  port=${port%% *}
}

# Loads a port with some connections for some seconds, at a rate where one is given.
load() {
  local port=$1
  shift
  taskset -c 1 "$load" "$port" '/token/driver/vehicle-{}' "$secret" "$@"
}
