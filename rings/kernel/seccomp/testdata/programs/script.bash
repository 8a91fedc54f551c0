set -eu
cd "$1"
n=0
for i in 1 2 3; do n=$((n + i)); done
printf 'b\na\nc\n' >list
sort list | tr a-z A-Z | head -2 >upper
while read -r line; do echo "got $line"; done <upper
cat <<EOF | wc -l
one
two
EOF
(cd / && pwd)
sleep 0.01 &
wait $!
trap 'echo usr' USR1
kill -USR1 $$
diff <(echo x) <(echo x)
ulimit -n >/dev/null
[[ -f list && $n = 6 ]] && echo "bash works"
