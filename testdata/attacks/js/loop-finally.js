// attack: an endless loop that a finally block starts again
// want: limit Timeout
function f() { try { for (;;) {} } finally { f() } }
f()
