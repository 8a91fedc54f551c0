# Columns cut and put together.
printf 'id,name\n1,ann\n2,bob\n' > t.csv
tail -n +2 t.csv | cut -d, -f2 | tr a-z A-Z
cut -d, -f1 t.csv > ids; cut -d, -f2 t.csv > names; paste -d: ids names
IFS=, read -r a b < t.csv; echo "$b $a"
