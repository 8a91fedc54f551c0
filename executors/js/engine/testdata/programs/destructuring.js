const { a, b: { c = await gate('default'), ...rest } = {}, ...others } = { a: await gate(1), b: { d: 2, e: 3 }, f: 4 };
const [x, , y = await gate('y'), ...z] = [1, 2, undefined, 4, 5];
const f = async ({ p = 1, q } = {}, ...more) => [p, await gate(q), more];
[a, c, rest, others, x, y, z, await f({ q: 2 }, 3, 4)];
