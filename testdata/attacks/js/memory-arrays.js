// attack: arrays until memory is gone
// want: limit OutOfMemory
// cpu: 5000
const a = []; for (;;) a.push(new Array(1000).fill(1))
