// The guest's side of the engine. It runs once, into the image, before any
// program; from then on it may use only what it captured here. A program can
// replace every global and every property of every prototype, so nothing below
// calls a method by name, spreads, iterates with for-of, destructures an array,
// or stores by index into an array that has a prototype.
//
// The files of this folder are one function body, joined in the order of their
// names. This one captures what the others use.

const { apply, getPrototypeOf, setPrototypeOf, ownKeys, defineProperty, deleteProperty, construct } = Reflect;
const { call, bind } = Function.prototype;
const method = (f) => apply(bind, call, [f]);
const getter = (object, key) => method(Object.getOwnPropertyDescriptor(object, key).get);

const keysOf = Object.keys, freeze = Object.freeze, isFrozen = Object.isFrozen, hasOwn = Object.hasOwn;
const descriptorOf = Object.getOwnPropertyDescriptor;
const same = Object.is, isArray = Array.isArray, isError = Error.isError;
const quote = JSON.stringify, parse = JSON.parse;
const slice = method(String.prototype.slice);
const indexOf = method(String.prototype.indexOf), includes = method(String.prototype.includes);
const matches = method(RegExp.prototype.exec);
const symbolText = method(Symbol.prototype.toString);
const NewMap = Map, NewSet = Set, NewDate = Date, NewRegExp = RegExp, NewPromise = Promise, NewError = Error;
const NewBytes = Uint8Array, NewView = DataView, BigNumber = BigInt, toNumber = Number;
const mapGet = method(Map.prototype.get), mapSet = method(Map.prototype.set), mapSize = getter(Map.prototype, 'size');
const mapEach = method(Map.prototype.forEach);
const setAdd = method(Set.prototype.add), setSize = getter(Set.prototype, 'size'), setEach = method(Set.prototype.forEach);
const dateTime = method(Date.prototype.getTime), dateText = method(Date.prototype.toISOString);
const regexpSource = getter(RegExp.prototype, 'source'), regexpFlags = getter(RegExp.prototype, 'flags');
const Typed = getPrototypeOf(Uint8Array);
const typedName = getter(Typed.prototype, Symbol.toStringTag), typedBuffer = getter(Typed.prototype, 'buffer');
const typedOffset = getter(Typed.prototype, 'byteOffset'), typedBytes = getter(Typed.prototype, 'byteLength');
const typedLength = getter(Typed.prototype, 'length');
const viewBuffer = getter(DataView.prototype, 'buffer'), viewOffset = getter(DataView.prototype, 'byteOffset');
const viewBytes = getter(DataView.prototype, 'byteLength'), bufferBytes = getter(ArrayBuffer.prototype, 'byteLength');
const toBase64 = method(Uint8Array.prototype.toBase64), fromBase64 = method(Uint8Array.fromBase64);
const multiply = Math.imul;

// A value without a prototype: reads and writes of it reach nothing else.
const bare = (object) => { setPrototypeOf(object, null); return object; };
const list = () => bare([]);
const table = () => bare({});

const protos = bare({
  object: Object.prototype, array: Array.prototype, map: Map.prototype, set: Set.prototype, date: Date.prototype,
  regexp: RegExp.prototype, buffer: ArrayBuffer.prototype, view: DataView.prototype,
  typed: Typed.prototype, promise: Promise.prototype,
});
const arrayTypes = bare({
  Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
  Float16Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array,
});
const objectProto = protos.object, arrayProto = protos.array;
const typedProtos = new NewMap();
for (const name of keysOf(arrayTypes)) mapSet(typedProtos, arrayTypes[name].prototype, name);

// --- errors ---------------------------------------------------------------

const stackOf = getter(Error.prototype, 'stack');
const captureStack = Error.captureStackTrace;
const guestErrors = ['ImportDenied', 'CapabilityDenied', 'CapabilityRevoked', 'ApprovalDenied', 'BudgetExceeded',
  'ArgumentError', 'ResultTooLarge', 'BridgeError'];
const errorProtos = bare({
  Error: Error.prototype, EvalError: EvalError.prototype, RangeError: RangeError.prototype,
  ReferenceError: ReferenceError.prototype, SyntaxError: SyntaxError.prototype, TypeError: TypeError.prototype,
  URIError: URIError.prototype, InternalError: InternalError.prototype,
});
for (const name of guestErrors) {
  const C = { [name]: class extends NewError {} }[name];
  defineProperty(C.prototype, 'name', { value: name, writable: true, configurable: true });
  defineProperty(globalThis, name, { value: C, writable: true, configurable: true });
  errorProtos[name] = C.prototype;
}
// The stack of an error without the lines of this file on its top.
const callerStack = (e) => {
  let text = stackOf(e);
  for (;;) {
    const end = indexOf(text, '\n');
    if (end < 0 || indexOf(slice(text, 0, end), '(<null>:') < 0) return text;
    text = slice(text, end + 1);
  }
};
const setStack = (e, value) =>
  defineProperty(e, 'stack', bare({ value, writable: true, enumerable: false, configurable: true }));
// Calls no constructor that a program could have replaced.
const makeError = (name, message) => {
  const e = new NewError(message);
  setStack(e, callerStack(e));
  setPrototypeOf(e, errorProtos[name] ?? errorProtos.BridgeError);
  return e;
};
