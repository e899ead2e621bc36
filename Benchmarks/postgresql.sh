#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Durable location updates over PostgreSQL, beside pgbench that upserts single rows of the same shape on the same server
# with as many clients. Server, clients and database share the machine; the ratio is what counts. The server is a
# throw-away one with PostgreSQL's own settings, so commits wait for the disk.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-4}

swift build -c release --product engine-bench >&2
program=$(swift build -c release --show-bin-path)/engine-bench

work=$(mktemp -d)
folder=$(mktemp -d "${TMPDIR:-/tmp}/fleetpass-pg-XXXXXX")
address=$(../Scripts/postgresql.sh start "$folder")
trap '../Scripts/postgresql.sh stop "$folder"; rm -rf "$work"' EXIT

psql "$address" --quiet <<'SQL'
CREATE TABLE upsert (
    provider text COLLATE "C", id text COLLATE "C", active boolean NOT NULL, place point, updated bigint NOT NULL,
    message bytea NOT NULL, PRIMARY KEY (provider, id)
) WITH (fillfactor = 80);
SQL
cat >"$work/upsert.sql" <<'SQL'
\set x random(0, 1000000)
INSERT INTO upsert VALUES
    ('bench', 'vehicle-' || :client_id, true, point(:x / 1e6, 1), :x, decode(repeat('ab', 200), 'hex'))
ON CONFLICT (provider, id) DO UPDATE SET active = excluded.active, place = excluded.place,
    updated = excluded.updated, message = excluded.message
SQL

# Three rounds each, in turn; the median counts.
for _ in 1 2 3; do
  pgbench "$address" --no-vacuum --client 64 --jobs 2 --protocol prepared --time "${seconds%.*}" --file "$work/upsert.sql" 2>/dev/null |
    awk '/^tps/ { print $3 }' >>"$work/pgbench"
  "$program" "$seconds" "$address" | tee -a "$work/all" | grep '^| durable updates' >>"$work/rows"
done
upserts=$(sort -n "$work/pgbench" | sed -n 2p)

echo "| what | ours | beside | ratio |"
echo "| --- | --- | --- | --- |"
for transport in REST gRPC; do
  grep "over $transport " "$work/rows" | sort -t '|' -k 3 -n | sed -n 2p >"$work/row"
  rate=$(sed -E 's/.*clients \| ([0-9]+)\/s.*/\1/' "$work/row")
  cat "$work/row"
  awk -v name="$transport" -v rate="$rate" -v upserts="$upserts" \
    'BEGIN { printf "| durable updates over %s and PostgreSQL, 64 clients | %d/s | pgbench, one row upserted: %d/s | %.2f × |\n", name, rate, upserts, rate / upserts }'
done
# Half load, as the last round had it.
tail -n 6 "$work/all" | grep 'half load'
