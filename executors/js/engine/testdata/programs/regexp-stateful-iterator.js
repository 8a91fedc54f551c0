const it = 'a1b22c333'.matchAll(/\d+/g);
const first = it.next().value[0];
await gate(0);
const second = it.next().value[0];
await gate(0);
[first, second, it.next().value[0], it.next().done];
