# A trap on failure.
trap 'echo "failed"' ERR
true
false
echo after
