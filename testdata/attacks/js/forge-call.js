// attack: stealing the host function behind a bridge by patching Function.prototype
// want: done ["undefined",[1]]
// cpu: 5000
// bridges: echo
let stolen
const call = Function.prototype.call, apply = Function.prototype.apply, bind = Function.prototype.bind
Function.prototype.call = function (...a) { stolen = this; return apply.apply(call, [this, a]) }
Function.prototype.apply = function (t, a) { stolen = this; return Reflect.apply(this, t, a) }
Function.prototype.bind = function (...a) { stolen = this; return Reflect.apply(bind, this, a) }
const r = await echo(1)
Function.prototype.call = call; Function.prototype.apply = apply; Function.prototype.bind = bind
;[typeof stolen, r]
