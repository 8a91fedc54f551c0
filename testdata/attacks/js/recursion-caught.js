// attack: unbounded recursion is an error like any other, and the program goes on
// want: done "RangeError"
// cpu: 5000
let n; try { (function f() { return f() + 1 })() } catch (e) { n = e.name }
n
