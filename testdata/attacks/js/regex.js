// attack: catastrophic backtracking
// want: limit Timeout
/^(a+)+$/.test('a'.repeat(40) + '!')
