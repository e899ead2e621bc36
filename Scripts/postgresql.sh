#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# A PostgreSQL server to throw away, reached by a socket in its own folder and by nobody else.
#
#   Scripts/postgresql.sh start [FOLDER] [NAME=VALUE...]   starts it, with settings, and prints its address
#   Scripts/postgresql.sh restart FOLDER                   ends it as a crash would, and starts it again
#   Scripts/postgresql.sh stop FOLDER                      ends it and removes what start made
#   Scripts/postgresql.sh programs                         prints the folder of PostgreSQL's programs
#
# FOLDER is new or empty at first; without one, start makes one. Settings hold until the next start, restarts included; those
# that say where the server is reached are this script's own. With FLEETPASS_OWNER=PID, the server ends, and its folder goes,
# when that process does. PostgreSQL does not run as root; then the user postgres or nobody runs it.
set -euo pipefail

# Says that a folder is one of start's, to be removed.
marker=.fleetpass-postgresql

usage() { sed -n '6,15s/^# \{0,1\}//p' "$0" >&2; exit 2; }
fail() { echo "postgresql: $*" >&2; exit 69; }

programs() {
  local found
  found=$(command -v initdb || true)
  [[ -n $found ]] || found=$(find /usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql*/bin -name initdb 2>/dev/null | sort -V | tail -n 1)
  [[ -n $found ]] || fail "PostgreSQL is missing; install it (on Debian: apt-get install postgresql)."
  dirname "$(realpath "$found")"
}

# Runs a command of the server as a user that PostgreSQL accepts.
lesser() {
  if [[ $(id -u) != 0 ]]; then "$@"; return; fi
  local user=nobody
  ! id -u postgres >/dev/null 2>&1 || user=postgres
  setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups "$@"
}

own() {
  [[ $(id -u) != 0 ]] || chown -R "$(lesser id -u):$(lesser id -g)" "$1"
}

# A text as a value in an address.
escaped() {
  local LC_ALL=C text=$1 index character
  for ((index = 0; index < ${#text}; index++)); do
    character=${text:index:1}
    case $character in
      [a-zA-Z0-9._-]) printf %s "$character" ;;
      *) printf %%%02X $(($(printf %d "'$character") & 255)) ;;
    esac
  done
}

# What outlives this script must hold none of its caller's open files, or the caller waits for it.
let_go() {
  local descriptor
  for descriptor in /dev/fd/*; do
    descriptor=${descriptor##*/}
    # The shell reads this script through 255.
    ((descriptor <= 2 || descriptor == 255)) || eval "exec $descriptor>&-"
  done
}

launch() {
  (let_go; lesser "$bin/pg_ctl" --pgdata "$folder/data" --log "$folder/log" --silent --wait --timeout 60 start </dev/null >&2) || {
    tail -n 20 "$folder/log" >&2
    fail "the server did not start; see above."
  }
}

# The address that start prints has no other place in it.
need_own_place() {
  local setting
  for setting in "$@"; do
    case $(tr '[:upper:]' '[:lower:]' <<<"${setting%%=*}" | tr -d '[:blank:]') in
      port | unix_socket_directories | listen_addresses)
        fail "the server is reached by the socket in its folder and by nothing else; leave ${setting%%=*} out." ;;
    esac
  done
}

need_server() {
  [[ -n $folder ]] || usage
  [[ -f $folder/$marker && -f $folder/data/PG_VERSION ]] ||
    fail "$folder has no server that start made; nothing was changed."
  folder=$(cd "$folder" && pwd)
}

runs() { lesser "$bin/pg_ctl" --pgdata "$folder/data" status </dev/null >/dev/null 2>&1; }

# Ends the server as a crash would.
end_server() {
  lesser "$bin/pg_ctl" --pgdata "$folder/data" --silent --wait --mode immediate stop </dev/null >&2
}

end_with_owner() {
  while kill -0 "$FLEETPASS_OWNER" 2>/dev/null; do sleep 1; done
  "$0" stop "$folder"
}

[[ $# -ge 1 ]] || usage
command=$1
shift
bin=$(programs)
folder=
if [[ $# -gt 0 && $1 != *=* ]]; then folder=$1; shift; fi

case $command in
  start)
    need_own_place "$@"
    [[ -n $folder ]] || folder=$(mktemp -d "${TMPDIR:-/tmp}/fleetpass-pg-XXXXXX")
    [[ $folder == /* ]] || folder=$PWD/$folder
    [[ $folder != *[\'\",\\]* ]] || fail "the path of $folder has a quote, a comma or a backslash; name one without."
    ((${#folder} < 80)) || fail "the path of $folder is too long for a socket; name a shorter one."
    mkdir -p "$folder"
    folder=$(cd "$folder" && pwd)
    [[ -f $folder/$marker || -z $(ls -A "$folder") ]] || fail "$folder holds other things; name a new folder, or an empty one."
    if [[ ! -d $folder/data ]]; then
      touch "$folder/$marker"
      chmod 700 "$folder"
      own "$folder"
      lesser "$bin/initdb" --pgdata "$folder/data" --username fleetpass --auth trust --encoding UTF8 --locale C --no-sync \
        </dev/null >"$folder/log" 2>&1 || { cat "$folder/log" >&2; fail "initdb failed; see above."; }
      own "$folder"
      {
        echo "listen_addresses = ''"
        echo "unix_socket_directories = '$folder'"
        echo "include 'start.conf'"
      } >>"$folder/data/postgresql.conf"
    fi
    ! runs || fail "the server in $folder runs already, with the settings of its start; end it first."
    for setting in "$@"; do echo "${setting%%=*} = '${setting#*=}'"; done >"$folder/data/start.conf"
    own "$folder/data/start.conf"
    launch
    lesser "$bin/psql" --host "$folder" --username fleetpass --dbname fleetpass --command '' >/dev/null 2>&1 </dev/null ||
      lesser "$bin/createdb" --host "$folder" --username fleetpass fleetpass </dev/null >&2 || {
        end_server
        fail "the database could not be made, and the server was ended; see above."
      }
    if [[ -n ${FLEETPASS_OWNER:-} ]]; then
      (let_go; end_with_owner) </dev/null >/dev/null 2>&1 &
    fi
    echo "postgresql://fleetpass@/fleetpass?host=$(escaped "$folder")"
    ;;
  restart)
    need_server
    end_server
    launch
    ;;
  stop)
    need_server
    # One that has ended before is no failure.
    end_server || ! runs || fail "the server in $folder does not end; its folder stays."
    rm -rf "$folder/data" "$folder/log" "$folder"/.s.PGSQL.*
    rm "$folder/$marker"
    rmdir "$folder" 2>/dev/null || echo "postgresql: $folder holds other things too, and stays." >&2
    ;;
  programs) echo "$bin" ;;
  *) usage ;;
esac
