const one = await Promise.any([refuse('a'), gate('b'), refuse('c')]);
let none;
try { await Promise.any([refuse('d'), refuse('e')]); } catch (e) { none = [e.name, e.errors.map((x) => x.message)]; }
[one, none];
