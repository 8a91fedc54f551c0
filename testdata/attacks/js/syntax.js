// attack: not a program
// want: failed SyntaxError
// cpu: 5000
let = = 3
