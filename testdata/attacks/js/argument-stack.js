// attack: the stack of an error that is made inside the engine
// want: done [false,false,"ArgumentError"]
// bridges: echo
// calls: 0
let text = '', name
try { await echo({ a: [{ b: [{ c: [{ d: () => 1 }] }] }] }) } catch (e) { text = e.stack; name = e.name }
[text === '', text.includes('null>'), name]
