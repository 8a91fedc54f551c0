const d = new Date(Date.UTC(2024, 1, 29, 12)), bad = new Date(NaN);
await gate(0);
d.setUTCFullYear(2025);
await gate(0);
[d.toISOString(), d.getTimezoneOffset(), isNaN(bad), new Date(0).toJSON(), typeof Date.now()];
