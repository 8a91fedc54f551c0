const keys = [{}, {}, {}], wm = new WeakMap(), ws = new WeakSet();
keys.forEach((k, i) => { wm.set(k, { i, k }); if (i !== 1) ws.add(k); });
const sym = Symbol('unregistered');
await gate(0);
keys[1] = null;
await gate(0);
[wm.get(keys[0]).i, wm.get(keys[0]).k === keys[0], wm.get(keys[2]).i, ws.has(keys[2]), wm.has({}), typeof sym];
