# Streams led elsewhere.
{ echo out; echo err >&2; } > both.log 2>&1; cat both.log
ls none 2> err.log; [ -s err.log ] && echo "has errors"
echo a > f; echo b >> f; cat < f
{ echo x; echo y; } | tee copy | wc -l; cat copy
