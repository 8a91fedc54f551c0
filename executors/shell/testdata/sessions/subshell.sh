# What a subshell keeps to itself.
x=1; (x=2; cd /; echo "in $x"); echo "out $x"
(exit 5); echo "code $?"
y=$(x=3; echo "$x"); echo "$x $y"
{ x=4; }; echo "$x"
