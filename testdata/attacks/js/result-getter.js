// attack: a result whose getter runs for ever
// want: limit Timeout
({ get a() { for (;;) {} } })
