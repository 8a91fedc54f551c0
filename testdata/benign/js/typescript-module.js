// want: done 7
// modules: math
import { seven } from 'policy:typed'
seven(0)
