# Lines with blanks and backslashes.
printf '  lead\nback\\slash\nlast' > in
while IFS= read -r line || [ -n "$line" ]; do echo "[$line]"; done < in
n=0; while read -r _; do n=$((n + 1)); done < in; echo $n
