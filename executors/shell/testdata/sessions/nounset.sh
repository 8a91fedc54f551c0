# A variable that is not set.
set -u
echo "${HOME:+set}"
echo "${NOTHING:-default}"
echo "$NOTHING" 2>/dev/null
echo "not reached"
