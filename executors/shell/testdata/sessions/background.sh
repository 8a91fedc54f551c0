# A command in the background, waited for.
{ echo "from behind" > bg.out; } &
wait
cat bg.out
sleep 0.01 & sleep 0.01 & wait; echo done
