// attack: unbounded recursion
// want: failed RangeError
// cpu: 5000
(function f() { return f() + 1 })()
