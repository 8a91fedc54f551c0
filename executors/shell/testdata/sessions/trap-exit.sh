# It cleans up at its end.
tmp=$(mktemp -d ./tmp.XXXXXX)
trap 'rm -r "$tmp"; echo cleaned' EXIT
echo data > "$tmp/f"
cat "$tmp/f"
exit 4
