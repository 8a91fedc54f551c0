# Associative arrays.
declare -A m=([x]=1 [y]=2)
m[z]=3
for k in $(printf '%s\n' "${!m[@]}" | sort); do echo "$k=${m[$k]}"; done
echo "${#m[@]}"
