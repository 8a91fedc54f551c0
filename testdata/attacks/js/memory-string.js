// attack: a string that doubles
// want: limit OutOfMemory
// cpu: 5000
let s = 'x'.repeat(1 << 16); const a = []; for (;;) { s = s + s; a.push(s + 'y'); a.push(s.split('').join('z')) }
