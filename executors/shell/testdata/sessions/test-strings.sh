# Questions about texts.
a=abc
[[ $a == a* ]] && echo glob
[[ $a =~ ^a(b)c$ ]] && echo "regex ${BASH_REMATCH[1]}"
[ "$a" = abc -a 2 -gt 1 ] && echo and
[[ -z "" && -n "$a" ]] && echo lengths
[[ $a < b ]] && echo before
