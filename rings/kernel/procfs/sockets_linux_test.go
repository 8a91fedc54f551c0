package procfs

import "testing"

// The number of sockets tells at once that they hold too much, and that they cannot.
func TestBounds(t *testing.T) {
	const enough = 160 << 20
	for _, tt := range []struct {
		name  string
		text  string
		least int64
		known bool
	}{
		{"none", "sockets: used 3\nTCP: inuse 0 orphan 0 tw 0 alloc 1 mem 139\nUDP: inuse 0 mem 256\n", 3 * leastSocket, true},
		{"two hundred", "sockets: used 203\nTCP: inuse 200 orphan 0 tw 0 alloc 1 mem 1\n", 200 * eachSocket, true},
		{"their bytes tell", "sockets: used 4003\nTCP: inuse 4000 orphan 0 tw 0 alloc 1 mem 1\n", 4000 * eachSocket, false},
		{"too many", "sockets: used 402060\nTCP: inuse 402000 orphan 0 tw 0 alloc 1 mem 1\n", 402000 * eachSocket, true},
		{"too many of IPv6", "sockets: used 1\nTCP: inuse 1\nUDP: inuse 1 mem 0\nTCP6: inuse 402000\nUDP6: inuse 7\n", 402009 * eachSocket, true},
		{"too many that were reset", "sockets: used 402060\nTCP: inuse 5 orphan 0 tw 0 alloc 1 mem 1\n", 402060 * leastSocket, true},
		{"others of the host", "sockets: used 3\nTCP: inuse 1 orphan 402060 tw 0 alloc 402060 mem 402060\n", 3 * leastSocket, true},
		{"nothing", "", 0, true},
	} {
		if least, known := bounds(tt.text, enough); least != tt.least || known != tt.known {
			t.Errorf("%s: %d, %v; want %d, %v", tt.name, least, known, tt.least, tt.known)
		}
	}
}
