const a = await import('late');
await gate(0);
const b = await import('late');
const c = await import('counter');
c.bump();
await gate(0);
let denied = '';
try { await import('nothing'); } catch (e) { denied = e.name; }
[a === b, a.late, c.value, denied];
