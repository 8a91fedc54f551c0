package config // other has no exported name

import (
	"testing"

	"golang.org/x/sys/windows"
)

// Whom the list of a file gives access decides, as its mode does elsewhere. FA is
// all access, FR to read; OW is the owner, BA administrators, SY the system, WD
// everybody, BU the users of this host, AU who has logged in.
func TestOther(t *testing.T) {
	user, err := windows.StringToSid("S-1-5-21-1-2-3-1001")
	if err != nil {
		t.Fatal(err)
	}
	const everybody, users = "S-1-1-0", "S-1-5-32-545"
	for _, tt := range []struct{ list, want string }{
		{"O:BAD:P(A;;FA;;;OW)", ""},
		{"O:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FA;;;S-1-5-21-1-2-3-1001)", ""},
		{"O:S-1-5-21-1-2-3-1002D:P(A;;FA;;;S-1-5-21-1-2-3-1002)", ""},
		{"O:BAD:P(D;;FA;;;WD)(A;;FA;;;BA)", ""},
		{"O:BAD:P(A;OICIIO;FA;;;WD)(A;;FA;;;BA)", ""}, // for what is made in it
		{"O:BAD:P", ""}, // nobody has any
		{"O:BAD:P(A;;FA;;;BA)(A;;FR;;;WD)", everybody},
		{"O:BAD:P(A;;FA;;;BA)(A;;FR;;;BU)", users},
		{"O:BAD:P(A;;FA;;;BA)(A;;0x2;;;BU)", users}, // to write
		{"O:BAD:P(A;;FA;;;BA)(A;;FA;;;S-1-5-21-1-2-3-1002)", "S-1-5-21-1-2-3-1002"},
		{"O:BA", "everybody"}, // no list
	} {
		sd, err := windows.SecurityDescriptorFromString(tt.list)
		if err != nil {
			t.Fatalf("%s: %v", tt.list, err)
		}
		if got, err := other(sd, user); err != nil || got != tt.want {
			t.Errorf("%s: %q %v, want %q", tt.list, got, err, tt.want)
		}
	}
}
