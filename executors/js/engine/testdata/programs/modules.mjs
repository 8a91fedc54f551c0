import counter, { bump } from 'counter';
import * as all from 'counter';
const at = await gate('top level');
bump();
const { late } = await import('late');
await gate(0);
bump();
export default [at, counter(), all.value, late, (await import('counter')).value, typeof import.meta];
