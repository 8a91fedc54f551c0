# Two files compared.
printf 'a\nb\nc\n' > x; printf 'a\nB\nc\n' > y
diff x y; echo "code $?"
cmp -s x x && echo same
diff -u x y | tail -n +3 | head -n 5
comm -12 x y
