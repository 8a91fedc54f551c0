# A step that is tried again.
n=0
try() { n=$((n+1)); [ $n -ge 3 ]; }
for i in 1 2 3 4 5; do
  if try; then echo "worked at $i"; break; fi
  echo "attempt $i failed"
done
