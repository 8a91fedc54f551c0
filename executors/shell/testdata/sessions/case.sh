# Patterns.
for x in a.go b.py c.tar.gz d; do
  case "$x" in
    *.go) echo "$x go" ;;
    *.py|*.rb) echo "$x script" ;;
    *.tar.*) echo "$x archive" ;;
    *) echo "$x other" ;;
  esac
done
