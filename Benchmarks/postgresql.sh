#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Durable location updates over PostgreSQL, beside pgbench that upserts single rows of the same shape on the same server:
# over one connection, as the engine's writer has, and over 64, which have a commit of the disk for many. Server, clients
# and database share the machine; the ratio is what counts. Then the same with a lean client of the engine, and with the
# engine, or pgbench, on core 0, and the database and that client on core 1. The server is a throw-away one with
# PostgreSQL's own settings, so commits wait for the disk.
set -euo pipefail
cd "$(dirname "$0")"
. ./building.sh
. ./measuring.sh
seconds=${1:-4}

for product in engine-bench http-load; do "${engine_build[@]}" --product "$product" >&2; done
programs=$("${engine_build[@]}" --show-bin-path)
program=$programs/engine-bench

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

server=$(head -n 1 "$folder/data/postmaster.pid")
# The hundredths of a second that the database has used, with connections that ended. A process that ends meanwhile is no error.
database_used() {
  { cat /proc/[0-9]*/stat 2>/dev/null || true; } | awk -v server="$server" \
    '{ id = $1; sub(/.*\) /, ""); if (id == server) sum += $12 + $13 + $14 + $15; else if ($2 == server) sum += $12 + $13 }
     END { print sum }'
}

# Three rounds each, in turn; the median counts.
upsert() {
  pgbench "$address" --no-vacuum --client "$1" --jobs "$2" --protocol prepared --time "${seconds%.*}" --file "$work/upsert.sql" 2>/dev/null >"$work/out"
  awk '/^tps/ { print int($3) }' "$work/out"
}
alone='' many=''
for _ in 1 2 3; do
  alone+=" $(upsert 1 1)"
  before=$(database_used)
  many+=" $(upsert 64 2)"
  awk -v used="$(($(database_used) - before))" '/actually processed/ { printf "%.1f\n", used * 1e4 / $NF }' "$work/out" >>"$work/time"
  "$program" "$seconds" "$address" "$server" | tee -a "$work/all" | grep '^| durable updates' >>"$work/rows"
done
upsert_time=$(sort -n "$work/time" | sed -n 2p)

compare() {
  awk -v what="$1" -v rate="$2" -v alone="$(median "$3")" -v many="$(median "$4")" 'BEGIN {
    row = "| durable updates %s | %d/s | pgbench, single rows over %s: %d/s | %.2f × |\n"
    printf row, what, rate, "one connection, as the engine writes", alone, rate / alone
    printf row, what, rate, "64 connections", many, rate / many }'
}

echo "| what | ours | beside | ratio |"
echo "| --- | --- | --- | --- |"
for transport in REST gRPC; do
  grep "over $transport " "$work/rows" | sort -t '|' -k 3 -n | sed -n 2p >"$work/row"
  rate=$(sed -E 's/.*clients \| ([0-9]+)\/s.*/\1/' "$work/row")
  cat "$work/row"
  compare "over $transport and PostgreSQL, 256 clients" "$rate" "$alone" "$many"
  cost=$(sed -nE "s/.*processor time for one over $transport \| ([0-9.]+) µs.*/\1/p" "$work/all" | sort -n | sed -n 2p)
  awk -v name="$transport" -v cost="$cost" -v upsert="$upsert_time" \
    'BEGIN { printf "| the database'"'"'s processor time for an update over %s | %.1f µs | pgbench, one row upserted: %.1f µs | %.2f × |\n", name, cost, upsert, upsert / cost }'
done
# Without HTTP and its clients, which share the cores.
grep 'in the same process' "$work/all" | sort -t '|' -k 3 -n | sed -n 2p
# Half load, as the last round had it.
grep 'half load' "$work/all" | tail -n 2

# A lean client of the engine: sharing the cores, then with the database on core 1, the engine on core 0.
coproc engine { exec "$program" serve "$address"; }
engine_process=$engine_PID
read -r -t 60 ready <&"${engine[0]}"
calls_of_engine "$programs" "$work" "$(field token "$ready")"

# Measures with pgbench on the cores of its caller, in turn; the median counts.
beside_pgbench() {
  local rest='' grpc='' alone='' many='' line
  for _ in 1 2 3; do
    alone+=" $(upsert 1 1)"
    many+=" $(upsert 64 "$1")"
    line=$(call updates REST "$(field engine "$ready")" "$seconds")
    rest+=" $(field rate "$line")"
    line=$(call updates gRPC "$(field engine_grpc "$ready")" "$seconds")
    grpc+=" $(field rate "$line")"
  done
  compare "over REST and PostgreSQL, $2" "$(median "$rest")" "$alone" "$many"
  compare "over gRPC and PostgreSQL, $2" "$(median "$grpc")" "$alone" "$many"
}

client_cores=$every_core
beside_pgbench 2 "lean client"
for process in "$server" $(pgrep -P "$server"); do taskset -acp 1 "$process" >/dev/null; done
taskset -acp 0 "$engine_process" >/dev/null
taskset -cp 0 $$ >/dev/null
client_cores=1
beside_pgbench 1 "engine and database on a core of their own each"
