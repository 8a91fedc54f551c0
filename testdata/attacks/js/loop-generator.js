// attack: a generator that never returns, driven by spread
// want: limit Timeout
function* g() { for (;;) yield 1 }
for (const x of g()) ;
