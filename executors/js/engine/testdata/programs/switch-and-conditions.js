const pick = async (x) => { switch (await gate(x)) { case 1: return 'one'; case 2: { await gate('in'); } default: return 'other'; } };
const v = (await gate(null)) ?? (await gate('fallback'));
const w = (await gate(0)) || (await gate('or')), x = (await gate(1)) && (await gate('and'));
[await pick(1), await pick(2), v, w, x, (await gate(2)) + (await gate(3)) * 2];
