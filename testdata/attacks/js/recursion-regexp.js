// attack: recursion inside the regular expression compiler
// want: failed
// cpu: 5000
new RegExp('('.repeat(200000))
