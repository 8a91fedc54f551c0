// attack: recursion inside the parser
// want: failed
// cpu: 5000
eval('('.repeat(200000))
