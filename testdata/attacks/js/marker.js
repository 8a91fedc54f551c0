// attack: a value that pretends to be an encoded one
// want: done [{"entries":true}]
// cpu: 5000
// bridges: echo
const r = await echo({ $ringd: 'bigint', value: '1' })
;[{ entries: typeof r[0] === 'object' && r[0].$ringd === 'bigint' }]
