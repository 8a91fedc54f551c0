# Codes through and and or.
true && echo yes || echo no
false && echo yes || echo no
! false; echo $?
grep -q x <<< xyz && echo found
(exit 7) || echo "got $?"
exit 9
