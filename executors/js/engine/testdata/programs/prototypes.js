function Old(n) { this.n = n; }
Old.prototype.get = function () { return this.n; };
const o = new Old(3), bare = Object.create(null, { x: { value: 1, enumerable: true } });
await gate(0);
Old.prototype.twice = function () { return this.get() * 2; };
await gate(0);
[o.twice(), Object.getPrototypeOf(bare) === null, bare.x, o.constructor === Old, Object.getPrototypeOf(async () => { }) !== Function.prototype];
