# What there is.
if command -v git >/dev/null 2>&1; then echo "git is there"; fi
if command -v no-such-program >/dev/null 2>&1; then echo yes; else echo "no such program"; fi
type cd | head -n 1
