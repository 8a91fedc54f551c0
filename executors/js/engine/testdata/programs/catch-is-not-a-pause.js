let swallowed = 0;
const f = async () => { try { return await gate('v'); } catch { swallowed++; return 'caught'; } finally { swallowed += 10; } };
const before = swallowed;
const v = await f();
const g = async () => { for (;;) { try { return await gate('w'); } catch { swallowed += 100; } } };
[before, v, await g(), swallowed];
