# A loop over what jq prints.
echo '[{"k":"a","v":1},{"k":"b","v":2}]' > kv.json
jq -r '.[] | "\(.k) \(.v)"' kv.json | while read -r k v; do
  echo "$k=$((v * 10))"
done
