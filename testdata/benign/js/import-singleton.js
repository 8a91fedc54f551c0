// want: done [2,true]
// modules: math
import { next, self } from 'policy:counter'
const again = await import('policy:counter')
next()
;[again.next(), again.self === self]
