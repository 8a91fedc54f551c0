globalThis.counter = { n: 1 };
var v = 'var';
function hoisted() { return typeof counter + v; }
await gate(0);
counter.n++;
Array.prototype.last = function () { return this[this.length - 1]; };
await gate(0);
[counter.n, hoisted(), [1, 2, 3].last(), globalThis.v, Object.keys(globalThis).includes('v')];
