# Search in a tree.
mkdir -p src/a src/b
echo 'func main() {}' > src/a/main.go
echo 'func helper() {} // TODO' > src/b/h.go
grep -rn TODO src
grep -rl func src | sort
grep -rlE 'main|none' src | wc -l
