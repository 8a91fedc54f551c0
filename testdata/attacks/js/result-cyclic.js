// attack: a cyclic result is encoded, not followed
// want: done
// cpu: 5000
const a = []; a.push(a); a
