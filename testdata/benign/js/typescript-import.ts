// want: done 43
// modules: math
import { answer } from 'policy:math'
import type { Nothing } from 'policy:absent'
const one: number = 1
answer() + one
