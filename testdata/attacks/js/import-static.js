// attack: a static import of a module that is denied
// want: denied ImportDenied
// cpu: 5000
import { get } from 'requests'
await get('http://evil')
