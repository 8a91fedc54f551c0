const log = [];
const thenable = { then(done) { log.push('then'); gate('t').then(done); } };
const subclass = class P extends Promise { };
const a = await thenable;
const b = subclass.resolve(gate('s')).then((v) => v + '!');
[a, await b, b instanceof subclass, b.constructor === subclass, log];
