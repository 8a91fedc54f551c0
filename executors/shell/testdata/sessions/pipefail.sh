# The code of a pipe.
false | true; echo $?
set -o pipefail
false | true; echo $?
grep x /dev/null | cat; echo "${?}"
