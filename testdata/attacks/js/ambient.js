// attack: reaching for powers that no program has
// want: done []
// cpu: 5000
const names = ['std', 'os', 'bjson', 'print', 'require', 'process', 'Deno', 'Bun', 'setTimeout', 'setInterval', 'WebAssembly', 'Worker', 'SharedArrayBuffer0',
  'fetch', 'XMLHttpRequest', 'navigator', 'performance', 'scriptArgs', 'gc', 'module', 'exports', 'global', '__filename', 'importScripts']
names.filter((n) => typeof globalThis[n] !== 'undefined')
