# Fields of a JSON text.
cat > data.json <<'EOF'
{"name":"ringd","items":[{"id":1,"ok":true},{"id":2,"ok":false},{"id":3,"ok":true}]}
EOF
jq -r .name data.json
jq -c '[.items[] | select(.ok) | .id]' data.json
jq '.items | length' < data.json
