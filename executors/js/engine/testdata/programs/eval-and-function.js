const f = new Function('x', 'return async () => (await gate(x)) + 1');
(0, eval)('var fromEval = 5');
const a = await f(1)();
const b = await eval('(async () => [await gate(2), typeof fromEval, a])()');
[a, b];
