# A text that is no JSON.
echo '{"a":' > bad.json
if jq . bad.json >/dev/null 2>&1; then echo good; else echo "bad: $?"; fi
