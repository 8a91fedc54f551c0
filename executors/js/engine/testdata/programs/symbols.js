const local = Symbol('local'), shared = Symbol.for('app');
const o = { [local]: 1, [shared]: 2, [Symbol.toPrimitive]: () => 42, *[Symbol.iterator]() { yield 'it'; } };
await gate(0);
const again = Symbol.for('app');
await gate(0);
[o[local], o[again], again === shared, Symbol.keyFor(shared), local.description, +o, [...o], Symbol('local') === local];
