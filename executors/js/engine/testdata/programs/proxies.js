const log = [];
const p = new Proxy({ a: 1 }, { get(t, k, r) { log.push('get ' + String(k)); return Reflect.get(t, k, r); }, has: (t, k) => k === 'magic' || k in t, set(t, k, v) { t[k] = v * 2; return true; } });
p.a;
await gate(0);
p.b = 5;
const { proxy, revoke } = Proxy.revocable({}, {});
await gate(0);
revoke();
let gone = '';
try { proxy.x; } catch (e) { gone = e.name; }
[p.b, 'magic' in p, 'no' in p, log, gone];
