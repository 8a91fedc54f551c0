// attack: TypeScript that imports what is denied
// want: denied ImportDenied
// cpu: 5000
import fs from 'fs'
fs.readFileSync('/etc/passwd')
