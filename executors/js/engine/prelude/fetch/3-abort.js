// Giving up: AbortController, AbortSignal, and the errors that say so.

const {
  apply, setPrototypeOf, defineProperty, NewMap, NewPromise, NewError, mapSet, mapEach, bare, list, setStack,
  callerStack, REJECT,
} = hands;
const { mapDelete, mapClear, itemsOf, typeError, isObject, give, tagged, clock, textOf } = kit;

const codes = bare({ AbortError: 20, TimeoutError: 23, SyntaxError: 12, InvalidStateError: 11 });
const nameOf = (e, name) => defineProperty(e, 'name', bare({ value: name, writable: true, enumerable: false, configurable: true }));
class DOMException extends NewError {
  constructor(message = '', name = 'Error') {
    super(textOf(message));
    nameOf(this, textOf(name));
  }
  get code() { const name = this.name; return typeof name === 'string' ? codes[name] ?? 0 : 0; }
}
const domException = (name, message) => {
  const e = new NewError(message);
  setStack(e, callerStack(e));
  nameOf(e, name);
  setPrototypeOf(e, DOMException.prototype);
  return e;
};
const late = () => domException('TimeoutError', 'the operation timed out');

let making = false, reach;
class AbortSignal {
  #aborted = false; #reason = undefined; #until = 0;
  #listeners = list(); #onabort = null;
  #waiting = new NewMap(); // calls, and signals that follow this one
  constructor() { if (!making) throw typeError('AbortSignal: use AbortController, or AbortSignal.timeout'); }
  static {
    const make = () => { making = true; try { return new AbortSignal(); } finally { making = false; } };
    const abort = (s, reason) => {
      if (s.#aborted) return;
      s.#aborted = true;
      s.#reason = reason;
      const calls = list(), signals = list();
      mapEach(s.#waiting, (is, v) => { if (is === 'signal') signals[signals.length] = v; else calls[calls.length] = v; });
      mapClear(s.#waiting);
      for (let i = 0; i < calls.length; i++) calls[i][REJECT](reason);
      tell(s);
      for (let i = 0; i < signals.length; i++) abort(signals[i], reason);
    };
    const tell = (s) => {
      const event = { type: 'abort', target: s, currentTarget: s, defaultPrevented: false, bubbles: false, cancelable: false };
      const told = s.#listeners, on = s.#onabort;
      s.#listeners = list();
      if (typeof on === 'function') listen(on, s, event);
      for (let i = 0; i < told.length; i++) {
        const f = told[i];
        if (typeof f === 'function') listen(f, s, event);
        else listen(() => { const h = f.handleEvent; if (typeof h === 'function') apply(h, f, [event]); }, s, event);
      }
    };
    // What a listener throws is an error that nobody handles, as elsewhere.
    const listen = (f, s, event) => { try { apply(f, s, [event]); } catch (e) { new NewPromise((_, reject) => { reject(e); }); } };
    const look = (s) => {
      if (!s.#aborted && s.#until !== 0 && clock() >= s.#until) abort(s, late());
      return s.#aborted;
    };
    reach = bare({
      make, abort, look, late,
      is: (v) => isObject(v) && #waiting in v,
      reason: (s) => s.#reason,
      until: (s) => s.#until,
      setUntil: (s, at) => { s.#until = at; },
      follow: (s, v, is) => { mapSet(s.#waiting, v, is); },
      leave: (s, v) => { mapDelete(s.#waiting, v); },
    });
  }
  get aborted() { return reach.look(this); }
  get reason() { reach.look(this); return this.#reason; }
  get onabort() { return this.#onabort; }
  set onabort(f) { this.#onabort = typeof f === 'function' ? f : null; }
  throwIfAborted() { if (reach.look(this)) throw this.#reason; }
  addEventListener(type, f) {
    const l = this.#listeners;
    if (type !== 'abort' || !isObject(f)) return;
    for (let i = 0; i < l.length; i++) if (l[i] === f) return;
    l[l.length] = f;
  }
  removeEventListener(type, f) {
    const kept = list(), l = this.#listeners;
    if (type !== 'abort') return;
    for (let i = 0; i < l.length; i++) if (l[i] !== f) kept[kept.length] = l[i];
    this.#listeners = kept;
  }
  static abort(reason) {
    const s = reach.make();
    reach.abort(s, reason === undefined ? domException('AbortError', 'the operation was aborted') : reason);
    return s;
  }
  static timeout(ms) {
    const n = +ms;
    if (!(n >= 0 && n <= 9007199254740991)) throw typeError('AbortSignal.timeout: milliseconds are needed');
    const s = reach.make();
    reach.setUntil(s, clock() + n);
    return s;
  }
  static any(signals) {
    const all = isObject(signals) ? itemsOf(signals) : null, s = reach.make();
    if (all === null) throw typeError('AbortSignal.any: a list of signals is needed');
    let until = 0;
    for (let i = 0; i < all.length; i++) {
      if (!reach.is(all[i])) throw typeError('AbortSignal.any: not a signal');
      if (reach.look(all[i])) { reach.abort(s, reach.reason(all[i])); return s; }
      const at = reach.until(all[i]);
      if (at !== 0 && (until === 0 || at < until)) until = at;
    }
    reach.setUntil(s, until);
    for (let i = 0; i < all.length; i++) reach.follow(all[i], s, 'signal');
    return s;
  }
}
class AbortController {
  #signal = reach.make();
  get signal() { return this.#signal; }
  abort(reason) { reach.abort(this.#signal, reason === undefined ? domException('AbortError', 'the operation was aborted') : reason); }
}
kit.signals = reach;
tagged(AbortSignal, 'AbortSignal');
tagged(AbortController, 'AbortController');
give('AbortController', AbortController);
give('AbortSignal', AbortSignal);
give('DOMException', DOMException);
