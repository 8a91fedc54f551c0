# A command that fails, and the code of the script.
git rev-parse --show-toplevel 2>/dev/null || echo "no repository: $?"
git log 2>/dev/null
