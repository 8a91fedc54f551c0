// attack: an endless loop
// want: limit Timeout
for (;;) {}
