#!/bin/sh
# Places the engine file that package-lock.json pins as wasm/quickjs.wasm.
# It needs npm and node, runs no package script, and writes nowhere else.
set -eu

pin=d4c9375f2b1ca4dc95f72c8aa2982a7a9951ac8011490d79c6582df732b4bbd9
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
out=$here/wasm/quickjs.wasm

digest() {
	node -e 'const f=require("fs").readFileSync(process.argv[1]);process.stdout.write(require("crypto").createHash("sha256").update(f).digest("hex"))' "$1"
}

if [ -f "$out" ] && [ "$(digest "$out")" = "$pin" ]; then
	exit 0
fi

tmp=$(mktemp -d)
new=$here/wasm/.quickjs.wasm.$$
trap 'rm -rf "$tmp" "$new"' EXIT
trap 'exit 1' HUP INT TERM

cp "$here/package.json" "$here/package-lock.json" "$tmp/"
# A cache of its own: the user's may be missing, read-only or another user's.
(cd "$tmp" && npm_config_cache="$tmp/cache" npm_config_update_notifier=false \
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)

got=$(digest "$tmp/node_modules/quickjs-wasi/quickjs.wasm")
if [ "$got" != "$pin" ]; then
	echo "fetch engine: quickjs.wasm has sha256 $got, want $pin" >&2
	exit 1
fi
cp "$tmp/node_modules/quickjs-wasi/quickjs.wasm" "$new"
chmod 0644 "$new"
mv -f "$new" "$out"
echo "fetch engine: placed wasm/quickjs.wasm" >&2
