// attack: serialising a chain of 10000 objects over and over
// want: limit Timeout
let o = {}; for (let i = 0; i < 1000; i++) o = { o }
for (;;) JSON.stringify(o)
