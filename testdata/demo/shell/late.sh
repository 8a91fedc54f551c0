git init -q work
clean=$(printf '%s' '-r' f)
rm $clean work
echo "not reached"
