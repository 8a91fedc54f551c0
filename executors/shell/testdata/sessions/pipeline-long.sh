# A long pipe.
seq 100 | grep 7 | sort -r | head -n 5 | tr '\n' ' ' | sed 's/ $//'; echo
seq 20 | awk '$1 % 2' | tail -n +3 | wc -l
