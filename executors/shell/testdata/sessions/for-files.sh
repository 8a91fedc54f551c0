# A loop over files.
mkdir d; for n in b a c; do echo "$n" > "d/$n.txt"; done
for f in d/*.txt; do
  base=$(basename "$f" .txt)
  echo "$base: $(cat "$f")"
done
for f in d/*.none; do echo "$f"; done
