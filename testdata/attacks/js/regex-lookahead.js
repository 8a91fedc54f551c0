// attack: backtracking inside a lookahead and a back reference
// want: limit Timeout
/(?=(a+))(a*)*b\1/.test('a'.repeat(64))
