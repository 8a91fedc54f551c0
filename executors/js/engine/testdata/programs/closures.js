const make = (start) => { let n = start; return { up: () => ++n, down: () => --n }; };
const a = make(10), b = make(100);
a.up();
await gate(1);
a.up(); b.down();
await gate(2);
[a.up(), b.down(), a.down()];
