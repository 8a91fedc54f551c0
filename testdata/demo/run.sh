#!/usr/bin/env bash
# The demo: `make demo`, or run.sh PATH-OF-RINGD PATH-OF-REVIEWER.
# Everything it makes lies in one temporary folder, which it removes.
set -euo pipefail

ringd=${1:?usage: run.sh RINGD REVIEWER}
reviewer=${2:?usage: run.sh RINGD REVIEWER}
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/ringd-demo.XXXXXX")
daemon='' collector='' server=''
cleanup() {
  [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
  [ -z "$daemon" ] || wait "$daemon" 2>/dev/null || true
  exec 9>&- || true
  [ -z "$collector" ] || wait "$collector" 2>/dev/null || true
  exec 8>&- || true
  [ -z "$server" ] || wait "$server" 2>/dev/null || true
  rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' plain=$'\e[0m'; fi
title() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
say() { printf '%s\n' "$*" | hang 0; }
# Folds long lines; what follows hangs N columns in.
hang() { awk -v in_="$1" '{ pad = ""; while (length($0) > 79 - length(pad)) { n = 79 - length(pad); while (n > 20 && substr($0, n, 1) != " ") n--; print pad substr($0, 1, n - 1); $0 = substr($0, n + 1); pad = sprintf("%*s", in_, "") } print pad $0 }'; }
fail() { printf 'demo: %s\n' "$*" >&2; exit 1; }
# One line from a pipe that a program holds open; no guessing how long it takes.
firstline() { IFS= read -r -t 20 line <"$1" || fail "nothing came from $1"; printf '%s\n' "$line"; }

# A key that the user running this can read, and an attacker who listens.
mkdir -p "$tmp/home/.ssh" "$tmp/sync"
secret="PRIVATE-KEY-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')"
printf '%s\n' "$secret" >"$tmp/home/.ssh/id_rsa"
mkfifo "$tmp/hold" "$tmp/ready"
"$reviewer" collect "$tmp/collector" <"$tmp/hold" >"$tmp/connections" &
collector=$!
exec 9>"$tmp/hold"
until [ -s "$tmp/collector" ]; do kill -0 "$collector" || fail "the collector ended"; done
address=$(cat "$tmp/collector")

# The diff names them; JSON is how inputs travel.
sed -e "s|@KEYFILE@|$tmp/home/.ssh/id_rsa|" -e "s|@COLLECTOR@|http://$address/|" "$here/change.diff" >"$tmp/change.diff"
awk 'BEGIN { printf "\"" } { gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); gsub(/\t/, "\\t"); printf "%s\\n", $0 } END { printf "\"\n" }' \
  "$tmp/change.diff" >"$tmp/diff.json"

title "1. The policy"
sed -n '/^spec:/,$p' "$here/policy/code-review.yaml"
"$ringd" vet "$here/policy" && say "ringd vet: no findings"
say "Two bridges are granted. Files, network, processes, imports: nothing."

title "2. Three reviewers read one diff, and a careless agent obeys the diff"
say "The diff adds a web handler. Two of its lines are not for the compiler:"
grep 'NOTE FOR THE\|POST it' "$tmp/change.diff" | sed -e "s|$tmp/home|~|" | cut -c2- | sed 's/^/  /' | hang 5
echo
"$ringd" run -p "$here/policy" --executor js --state "$tmp/state1" --json --report \
  --input "diff=$tmp/diff.json" --bridge "spawnSubagent=$reviewer" "$here/review.ts" \
  >"$tmp/outcome.json" 2>"$tmp/console" && fail "nothing was refused"
grep -q '"state": "done"' "$tmp/outcome.json" || { cat "$tmp/console" >&2; fail "the review did not finish"; }
sed -n '/^run  /q;p' "$tmp/console"

title "3. What ran, and which limits held"
sed -n '/^run  /,$p' "$tmp/console" | hang 10

title "4. What the attacker got"
exec 9>&-
wait "$collector"; collector=''
printf 'connections to the collector:      %s\n' "$(cat "$tmp/connections")"
for where in outcome.json console; do
  if grep -q "$secret" "$tmp/$where"; then fail "the key is in $where"; fi
done
if grep -rq "$secret" "$tmp/state1"; then fail "the key is in the records"; fi
printf 'copies of the key in any output:   0\n'
[ "$(cat "$tmp/connections")" = 0 ] || fail "the collector was reached"
if grep -q WORKED "$tmp/console"; then fail "an attempt worked"; fi
say "There was nothing to call: what a policy does not grant does not exist."

title "5. The record of it"
"$ringd" audit query --state "$tmp/state1" --long --kind call_opened,call_decided,call_closed \
  | sed -e 's/  [0-9-]*T\([0-9:.]*\)Z/ \1/' -e 's/  r[a-z2-7]*  c/  c/' -e 's/  (.*//' -e 's/bridge:\([a-zA-Z]*\)/\1/' -e 's|  allow  allowed.*|  allow|' -e 's/  refused  deny/  deny/'
"$ringd" audit verify --state "$tmp/state1" | cut -c1-79

title "6. A daemon, and a push that tightens the policy during a run"
cp "$here/policy/code-review.yaml" "$tmp/sync/"
cat >"$tmp/ringd.yaml" <<YAML
sync: $tmp/sync
state: $tmp/state2
socket: $tmp/ringd.sock
bridges:
  spawnSubagent: {provider: command, command: ["$reviewer"]}
  checkpoint: {provider: harness}
YAML
"$ringd" serve --config "$tmp/ringd.yaml" >"$tmp/ready" 2>"$tmp/daemon.log" &
daemon=$!
firstline "$tmp/ready" | sed "s|$tmp/||"
export RINGD_SOCKET="$tmp/ringd.sock"

say "A run asks one reviewer, then waits for its harness (you) at a checkpoint:"
"$ringd" run --agent code-review --executor js --json \
  --input "diff=$tmp/diff.json" "$here/second.ts" 2>&1 >"$tmp/second.json" | sed 's/^/  program: /' | hang 13 || [ $? = 75 ] # it waits
run=$(sed -n 's/^  "id": "\([^"]*\)".*/\1/p' "$tmp/second.json")
call=$(sed -n 's/^      "id": "\([^"]*\)".*/\1/p' "$tmp/second.json")
[ -n "$run" ] && [ -n "$call" ] || { cat "$tmp/second.json" >&2; fail "the second run did not pause"; }
printf '  run is paused, call %s waits for the harness\n' "$call"

say "Meanwhile somebody takes spawnSubagent away and pushes:"
sed -e 's/revision: 1/revision: 2/' -e '/- name: spawnSubagent/,/limits: {callsPerRun/d' \
  "$here/policy/code-review.yaml" >"$tmp/next.yaml"
mv "$tmp/next.yaml" "$tmp/sync/code-review.yaml"
"$ringd" status --generation 2 --wait 20s | sed -n 's/^generation\(.\{30\}\).*/  in force: generation\1/p'

say "The harness answers; the same program goes on and asks the next reviewer:"
"$ringd" answer "$run" "$call" --value '"go on"' | sed 's/^/  /'
"$ringd" runs "$run" 2>&1 | sed -n 's/^  /  program: /p' | hang 11
"$ringd" runs "$run" --json >"$tmp/second.json"
grep -q '"state": "done"' "$tmp/second.json" || fail "the second run did not finish"
grep -q 'CapabilityRevoked' "$tmp/second.json" || fail "the second reviewer was not refused"
kill "$daemon"; wait "$daemon" || fail "the daemon did not drain"; daemon=''
"$ringd" audit verify --state "$tmp/state2" | tail -n 1

title "7. A comment waits for a person, and the daemon is killed meanwhile"
mkdir "$tmp/sync3"
cp "$here/comment/code-review.yaml" "$tmp/sync3/"
daemon_on() { # STATE: a daemon with this state folder, and its reviewers and comments on a trail
  cat >"$tmp/ringd3.yaml" <<YAML
sync: $tmp/sync3
state: $1
socket: $tmp/ringd.sock
bridges:
  spawnSubagent: {provider: command, command: [/bin/sh, -c, 'echo "lookup  a reviewer was asked" >>$tmp/trail; exec "$reviewer"']}
  postComment: {provider: command, command: [/bin/sh, -c, 'cat >/dev/null; echo "effect  the comment was posted" >>$tmp/trail; echo "{\"url\": \"https://git.acme.example/pull/17#1\"}"']}
YAML
  "$ringd" serve --config "$tmp/ringd3.yaml" >"$tmp/ready" 2>>"$tmp/daemon.log" &
  daemon=$!
  firstline "$tmp/ready" >/dev/null
}
daemon_on "$tmp/state3"
"$ringd" run --agent code-review --executor js --json \
  --input "diff=$tmp/diff.json" "$here/comment.ts" 2>&1 >"$tmp/third.json" | sed 's/^/  program: /' | hang 13 || [ $? = 75 ] # it waits
run=$(sed -n 's/^  "id": "\([^"]*\)".*/\1/p' "$tmp/third.json")
grep -q '"state": "paused"' "$tmp/third.json" || { cat "$tmp/third.json" >&2; fail "the third run did not pause"; }
kill -9 "$daemon"; wait "$daemon" 2>/dev/null || true; daemon=''
cp -Rp "$tmp/state3" "$tmp/state4"; rm -rf "$tmp/state3"
say "The daemon is killed with -9. Its state folder is copied, and the first one removed. No process is left; the program is a sealed record. A maintainer reads and allows:"
"$ringd" approve "$run" --state "$tmp/state4" --as group:maintainers@acme.example | sed -e "s|$tmp/||" -e '/^go on with/d' | hang 11
say "A new daemon starts on the copy, and the program goes on after the line it stopped at:"
daemon_on "$tmp/state4"
"$ringd" runs "$run" --wait 20s 2>&1 | sed -n 's/^  posted/  program: posted/p' | hang 11
"$ringd" runs "$run" --json >"$tmp/third.json"
grep -q '"state": "done"' "$tmp/third.json" || { cat "$tmp/third.json" >&2; fail "the third run did not finish"; }
kill "$daemon"; wait "$daemon" || fail "the daemon did not drain"; daemon=''
say "What happened outside, and what is on record:"
sort "$tmp/trail" | uniq -c | sed 's/^ */  /;s/ / x /3'
"$ringd" audit query --state "$tmp/state4" --run "$run" --long --kind call_opened,run_paused,call_approved,run_resumed,call_begun,call_closed,run_ended \
  | sed -e 's/  [0-9-]*T\([0-9:.]*\)Z/ \1/' -e 's/  r[a-z2-7]\{20,\}//' -e 's/  (.*//' -e 's/bridge:\([a-zA-Z]*\)/\1/' -e 's/  allow  allowed$/  allow/' | cut -c1-79
[ "$(grep -c lookup "$tmp/trail")" = 3 ] || fail "a reviewer was asked twice"
[ "$(grep -c effect "$tmp/trail")" = 1 ] || fail "the comment was not posted once"
"$ringd" audit verify --state "$tmp/state4" | tail -n 1

title "8. An agent that may reach the network"
mkfifo "$tmp/hold8"
"$reviewer" serve "$tmp/port" <"$tmp/hold8" &
server=$!
exec 8>"$tmp/hold8"
until [ -s "$tmp/port" ]; do kill -0 "$server" || fail "the server ended"; done
port=$(cat "$tmp/port")
mkdir "$tmp/policy8"
sed "s/@PORT@/$port/" "$here/egress/research.yaml" >"$tmp/policy8/research.yaml"
sed -n '/^  network:/,$p' "$here/egress/research.yaml"
"$ringd" vet "$tmp/policy8" && say "ringd vet: no findings"
say "What it decides, asked without running anything (target, then the answer):"
"$ringd" decide -p "$tmp/policy8" <"$here/egress/asks.jsonl" >"$tmp/decisions" && fail "nothing was denied"
paste "$here/egress/asks.jsonl" "$tmp/decisions" | sed -e 's/.*"target": "\([^"]*\)".*"verdict":"\([a-z]*\)","code":"\([a-z._]*\)","reason":"\(.*\)","rule".*/  \2  \1: \4/' \
  -e 's/^  deny/  deny /' -e 's/\\"/"/g' | hang 9
[ "$(grep -c '"verdict":"allow"' "$tmp/decisions")" = 2 ] || fail "not the two that are allowed"

say "A program with these grants. The credential of the gateway is in a file of the host, and nowhere else:"
key="KEY-$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')"
(umask 077; printf '%s\n' "$key" >"$tmp/models.key")
printf '"http://127.0.0.1:%s"' "$port" >"$tmp/base.json"
"$ringd" run -p "$tmp/policy8" --executor js --state "$tmp/state8" --json --credential "models-key=file:$tmp/models.key" \
  --input "base=$tmp/base.json" "$here/egress/fetch.ts" >"$tmp/fetch.json" 2>"$tmp/fetch.out" && fail "nothing was refused"
grep -q '"state": "done"' "$tmp/fetch.json" || { cat "$tmp/fetch.out" >&2; fail "the program did not finish"; }
cat "$tmp/fetch.out"
grep -q "200 GET /manual/1, with no credential" "$tmp/fetch.out" || fail "the manual was not read"
grep -q "200 POST /v1/messages, with a credential of $((7 + ${#key})) letters" "$tmp/fetch.out" || fail "the gateway did not add its credential"
[ "$(grep -c ' 200 ' "$tmp/fetch.out")" = 2 ] || fail "an attempt worked"
if grep -rq "$key" "$tmp/state8" "$tmp/fetch.json" "$tmp/fetch.out"; then fail "the credential is in an output or a record"; fi
say "On record, the credential by its name alone:"
"$ringd" audit query --state "$tmp/state8" --long --kind egress_decided \
  | awk -v port=":$port" '{ line = sprintf("  %-5s %s %s", $7, $6, $8); sub(port, ":PORT", line); for (i = 9; i <= NF; i++) if ($i ~ /^(credential|method|path)=/) line = line " " $i; print line }' | hang 8
exec 8>&-
wait "$server"; server=''

title "9. An agent that writes shell scripts"
sed -n '/^      binaries:/,$p' "$here/shell/policy.yaml"
"$ringd" vet "$here/shell/policy.yaml" && say "ringd vet: no findings"
say "What a script would run, however it is wrapped (ringd explain --script hidden.sh):"
"$ringd" explain -p "$here/shell/policy.yaml" --script "$here/shell/hidden.sh" >"$tmp/explained" && fail "nothing was refused"
sed -e "s|$here/||g" -e 's/^/  /' "$tmp/explained" | hang 10
rc=0
"$ringd" run -p "$here/shell/policy.yaml" --executor shell "$here/shell/notes.sh" >"$tmp/notes.out" 2>"$tmp/notes.err" || rc=$?
if [ "$rc" = 125 ]; then
  say "This host lacks a layer that scripts need, so nothing ran:"
  hang 2 <"$tmp/notes.err"
else
  say "A script at its work (notes.sh), in a guest with a folder of its own:"
  sed 's/^/  /' "$tmp/notes.out" "$tmp/notes.err"
  [ "$rc" = 0 ] && grep -q '^notes: 3, commits: 3$' "$tmp/notes.out" || fail "the script did not do its work"
  say "One that puts its words together as it runs (late.sh) is stopped there:"
  rc=0
  "$ringd" run -p "$here/shell/policy.yaml" --executor shell "$here/shell/late.sh" >"$tmp/late.out" 2>&1 || rc=$?
  sed 's/^/  /' "$tmp/late.out"
  [ "$rc" = 126 ] || fail "it was not refused"
  grep -q "not reached" "$tmp/late.out" && fail "it went on"
fi

title "10. An agent that writes Python"
sed -n '/^    python:/,$p' "$here/python/policy.yaml"
awk 'BEGIN { printf "\"" } { gsub(/"/, "\\\""); printf "%s\\n", $0 } END { printf "\"\n" }' "$here/python/sales.csv" >"$tmp/sales.json"
mkdir "$tmp/sync10"
cp "$here/python/policy.yaml" "$tmp/sync10/"
cat >"$tmp/ringd10.yaml" <<YAML
sync: $tmp/sync10
state: $tmp/state10
socket: $tmp/ringd.sock
bridges:
  publish: {provider: command, command: [/bin/sh, -c, 'cat >>$tmp/published; echo true']}
YAML
"$ringd" serve --config "$tmp/ringd10.yaml" >"$tmp/ready" 2>>"$tmp/daemon.log" &
daemon=$!
firstline "$tmp/ready" >/dev/null
rc=0
"$ringd" run --agent analyst --executor python --session sales --input "sales=$tmp/sales.json" \
  "$here/python/sales.py" >"$tmp/sales.out" 2>"$tmp/sales.err" || rc=$?
if [ "$rc" = 125 ]; then
  say "This host lacks an interpreter, or a layer that it needs, so nothing ran:"
  hang 2 <"$tmp/sales.err"
else
  say "It adds a table up (with pandas, where the host has it) and is refused what nobody granted. Its call of publish holds it until somebody allows that; nobody does:"
  sed 's/^/  /' "$tmp/sales.out" | hang 11
  grep -q 'refused: import of "requests"' "$tmp/sales.out" && grep -q "not published: Approval" "$tmp/sales.out" || { cat "$tmp/sales.err" >&2; fail "the program was not refused"; }
  [ ! -e "$tmp/published" ] || fail "it was published"
  say "What it knew is there for the next program of its session:"
  "$ringd" run --agent analyst --executor python --session sales "$here/python/next.py" >"$tmp/next.out" 2>&1 || { cat "$tmp/next.out" >&2; fail "the session was not there"; }
  sed 's/^/  /' "$tmp/next.out"
fi
kill "$daemon"; wait "$daemon" || fail "the daemon did not drain"; daemon=''

title "11. A policy that teams layer, test, review and sign"
layers="$tmp/layers"
"$ringd" init "$layers" --template layered --owner team:demo@acme.example >/dev/null 2>&1 || fail "no template was written"
"$ringd" vet "$layers" || fail "the template has findings"
say "An organisation, a team and three agents (ringd init --template layered), with tests that meet every rule (ringd test):"
"$ringd" test --coverage "$layers" >"$tmp/tested" || { cat "$tmp/tested" >&2; fail "a test of the policy failed"; }
grep -v PASS "$tmp/tested" | grep -v _test.yaml | sed 's/^/  /'
say "An agent asks for more than its team may have:"
cp -r "$layers" "$tmp/wider"
sed -i 's/memory: 1GiB/memory: 8GiB/' "$tmp/wider/data-engineer.yaml"
"$ringd" vet "$tmp/wider" >"$tmp/vetted" && fail "a ceiling was exceeded"
sed -e "s|$tmp/||g" -e 's/^/  /' "$tmp/vetted" | hang 6
say "What a change gives and takes, as a reviewer reads it (ringd diff --fail-on widens):"
cp "$layers/data-engineer.yaml" "$tmp/wider/"
sed -i -e '/name: requestApproval/s/callsPerRun: 10/callsPerRun: 50/' -e 's/, csv\]/]/' "$tmp/wider/data-engineer.yaml"
"$ringd" diff --fail-on widens "$layers" "$tmp/wider" >"$tmp/diffed" && fail "a change that widens was let through"
sed -e "s|$tmp/||g" -e '/^old\|^new/d' -e 's/^/  /' "$tmp/diffed" | hang 6
say "Signed, it is taken by the hosts that trust the key; changed by a byte, by none (ringd sign, ringd verify):"
key=$("$ringd" keygen -o "$tmp/demo.key" 2>/dev/null) || fail "no key was made"
printf 'trust:\n  roles:\n    policy: {threshold: 1, keys: ["%s"]}\n' "$key" >"$tmp/trust.yaml"
"$ringd" sign -p "$layers" --key "$tmp/demo.key" --issuer user:demo@acme.example --expires 1d -o "$tmp/push.dsse.json" >"$tmp/signed" 2>&1 ||
  { cat "$tmp/signed" >&2; fail "it was not signed"; }
"$ringd" verify "$tmp/push.dsse.json" --config "$tmp/trust.yaml" >"$tmp/verified" 2>&1 || { cat "$tmp/verified" >&2; fail "what was signed does not verify"; }
sed -e "s|$tmp/||g" -e 's/^/  /' "$tmp/verified" | hang 6
sed 's/"payload":"../"payload":"AA/' "$tmp/push.dsse.json" >"$tmp/changed.dsse.json"
"$ringd" verify "$tmp/changed.dsse.json" --config "$tmp/trust.yaml" >"$tmp/unverified" 2>&1 && fail "what was changed verifies"
sed -e "s|$tmp/||g" -e 's/^/  /' "$tmp/unverified" | hang 6

title "That is ringd: a program can do nothing but ask."
say "Policy: testdata/demo/policy. Program: testdata/demo/review.ts. More: README.md."
