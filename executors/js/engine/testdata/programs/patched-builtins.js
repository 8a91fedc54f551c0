const real = JSON.parse;
JSON.parse = () => 'stolen'; Promise.prototype.then = new Proxy(Promise.prototype.then, {}); Array.prototype[Symbol.iterator] = new Proxy(Array.prototype[Symbol.iterator], {});
Object.prototype.get = () => 'polluted'; Object.prototype.set = 1;
const v = await gate({ x: [1, 2] });
await gate(0);
delete Object.prototype.get; delete Object.prototype.set;
[v.x, JSON.parse('1'), real('2')];
