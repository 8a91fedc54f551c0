# Columns added up.
printf 'a 1\nb 2\na 3\n' > t
awk '{s[$1]+=$2} END {print s["a"], s["b"]}' t
awk -F: 'NR==1 {print NF}' <<< "x:y:z"
awk 'BEGIN {printf "%.2f\n", 10/3}'
