const sent = { d: new Date(5), m: new Map([['k', [1n]]]), b: new Uint8Array([1, 2]), r: /x/g, s: new Set([NaN]), u: undefined };
sent.loop = sent;
const got = await gate(sent);
await gate(0);
const again = await gate(got);
[got.d.getTime(), got.m.get('k')[0] === 1n, [...got.b], got.r.flags, got.s.has(NaN), 'u' in got, again.loop === again, got !== sent];
