# JSON made from variables.
name="a \"quoted\" name"
jq -n --arg n "$name" --argjson c 3 '{name:$n,count:$c}' | tee out.json
jq -r '.name' out.json
