// attack: patching JSON and the array prototype to change what a call sends
// want: done [{"a":1}]
// cpu: 5000
// bridges: echo
JSON.stringify = () => '["forged"]'
JSON.parse = () => 'forged'
Array.prototype.toJSON = () => ['forged']
Object.prototype.toJSON = () => 'forged'
const r = await echo({ a: 1 })
delete Object.prototype.toJSON; delete Array.prototype.toJSON
r
