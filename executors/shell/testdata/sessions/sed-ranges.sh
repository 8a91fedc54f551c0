# Ranges, deletion and insertion.
seq 10 > n
sed -n '3,5p' n
sed '/^[2-9]$/d' n
sed '1i first' n | head -n 2
sed -i 's/^10$/ten/' n
tail -n 1 n
