// attack: replacing a bridge for whoever calls it later
// want: done ["object",[7]]
// cpu: 5000
// bridges: tools.search
let kept = 'none'
try { globalThis.tools = { search: () => 'mine' } } catch {}
try { tools.search = () => 'mine' } catch {}
try { delete tools.search } catch {}
try { Object.defineProperty(tools, 'search', { value: () => 'mine' }) } catch {}
;[typeof tools, await tools.search(7)]
