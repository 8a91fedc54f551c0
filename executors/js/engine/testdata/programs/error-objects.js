function thrower() { return new Error('made before', { cause: new TypeError('cause') }); }
const e = thrower();
await gate(0);
const agg = new AggregateError([e, new RangeError('r')], 'many');
await gate(0);
[e.message, e.cause.name, e.stack.includes('thrower'), agg.errors[0] === e, agg.errors.length, String(agg), e instanceof Error];
