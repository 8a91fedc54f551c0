// want: done [42,"answer"]
// modules: math
import { answer } from 'policy:math'
import * as m from 'policy:math'
;[answer(), m.name]
