// attack: an endless loop that awaits nothing real
// want: limit Timeout
for (;;) await null
