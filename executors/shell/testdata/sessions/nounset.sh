# A variable that is not set.
set -u
echo "${HOME:+set}"
echo "${NOTHING:-default}"
echo "$NOTHING"
echo "not reached"
