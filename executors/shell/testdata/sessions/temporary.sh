# What is between two steps stands in a temporary file.
tmp=$(mktemp)
printf 'b\na\nb\n' > "$tmp"
sort -u "$tmp" > "$tmp.sorted"
while read -r line; do echo "line $line"; done < "$tmp.sorted"
grep -c b < "$tmp" >> "$tmp.sorted" || true
cat "$tmp.sorted"
grep zzz "$tmp" | tee found.txt; echo "status ${PIPESTATUS[0]} ${PIPESTATUS[1]}"
