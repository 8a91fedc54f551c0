# Functions with parameters and codes.
greet() { local who=${1:-nobody}; echo "hi $who"; return 3; }
greet you; echo "code $?"
greet
sum() { local t=0; for n in "$@"; do t=$((t+n)); done; echo "$t"; }
echo "sum: $(sum 1 2 3)"
who=outer; greet inner >/dev/null; echo "$who"
