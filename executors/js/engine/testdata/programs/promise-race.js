const first = await Promise.race([gate('slow'), free('fast'), new Promise(() => { })]);
const second = await Promise.race([gate('x'), gate('y')]);
const keep = gate('later');
await gate('barrier');
[first, second, await keep];
