# Counters.
i=0
until [ "$i" -ge 3 ]; do echo "i=$i"; i=$((i+1)); done
for ((j=0; j<3; j++)); do printf '%d ' "$j"; done; echo
while true; do i=$((i-1)); [ $i -lt 1 ] && break; [ $i -eq 2 ] && continue; echo "down $i"; done
