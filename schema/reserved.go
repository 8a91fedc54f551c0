package schema

// ReservedGlobal reports whether a JavaScript program already has the name, or cannot write it.
func ReservedGlobal(name string) bool {
	switch name {
	case "Array", "ArrayBuffer", "AggregateError", "AsyncDisposableStack", "AsyncIterator", "Atomics", "BigInt",
		"BigInt64Array",
		"BigUint64Array", "Boolean", "DataView", "Date", "DisposableStack", "DOMException", "Error", "EvalError",
		"FinalizationRegistry",
		"Float16Array", "Float32Array", "Float64Array", "Function", "Infinity", "Int16Array", "Int32Array", "Int8Array",
		"InternalError", "Intl", "Iterator", "JSON", "Map", "Math", "NaN", "Number", "Object", "Promise", "Proxy",
		"RangeError",
		"ReferenceError", "Reflect", "RegExp", "Set", "SharedArrayBuffer", "String", "SuppressedError", "Symbol",
		"SyntaxError",
		"Temporal", "TypeError", "URIError", "Uint16Array", "Uint32Array", "Uint8Array", "Uint8ClampedArray", "WeakMap",
		"WeakRef",
		"WeakSet", "WebAssembly", "decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent", "escape",
		"eval",
		"globalThis", "isFinite", "isNaN", "parseFloat", "parseInt", "undefined", "unescape", "queueMicrotask":
		return true
	case "ImportDenied", "CapabilityDenied", "CapabilityRevoked", "ApprovalDenied", "BudgetExceeded", "ArgumentError",
		"ResultTooLarge", "BridgeError", "Timeout", "OutOfMemory", "Deadlock", "Cancelled", "console", "inputs",
		"ringd":
		return true
	case "await", "async", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete",
		"do", "else",
		"enum", "export", "extends", "false", "finally", "for", "function", "if", "implements", "import", "in",
		"instanceof",
		"interface", "let", "new", "null", "of", "package", "private", "protected", "public", "return", "static",
		"super", "switch",
		"this", "throw", "true", "try", "typeof", "using", "var", "void", "while", "with", "yield", "arguments":
		return true
	default:
		return false
	}
}

// ReservedProperty reports whether every object has a property of that name.
func ReservedProperty(name string) bool {
	switch name {
	case "constructor", "prototype", "then", "toString", "toLocaleString", "toJSON", "valueOf", "hasOwnProperty",
		"isPrototypeOf",
		"propertyIsEnumerable", "__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__",
		"__lookupSetter__":
		return true
	default:
		return false
	}
}
