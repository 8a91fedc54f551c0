# It stops at a failure.
set -euo pipefail
echo start
mkdir -p out
cp missing out/ 2>/dev/null
echo "not reached"
