// attack: code from text reaches nothing more
// want: done ["undefined","undefined","object"]
// cpu: 5000
const g = (0, eval)('this'), f = Function('return this')()
;[typeof g.process, typeof f.require, typeof g.Object.constructor.constructor('return this')()]
