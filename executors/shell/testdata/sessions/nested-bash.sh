# A shell in a script.
bash -c 'echo "inner $0 $#"; exit 3' name a b; echo "code $?"
export V=exported; W=private
bash -c 'echo "$V ${W:-none}"'
sh -c 'for i in 1 2; do echo $i; done' | tac
