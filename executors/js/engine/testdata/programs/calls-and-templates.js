const add = (...n) => n.reduce((p, q) => p + q, 0);
const o = { async m(x) { return [this.k, await gate(x), arguments.length]; }, k: 'this' };
[add(await gate(1), ...(await gate([2, 3])), await free(4)), await o.m(5), await o['m'](6, 7), `${await gate('t')}-${await gate('u')}`];
