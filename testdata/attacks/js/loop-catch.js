// attack: an endless loop that catches whatever stops it
// want: limit Timeout
for (;;) { try { for (;;) {} } catch { continue } }
