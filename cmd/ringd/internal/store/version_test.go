package store

import (
	"path/filepath"
	"testing"
)

// In the package: it looks at what is not exported.
func TestSQLiteVersion(t *testing.T) {
	for version, ok := range map[string]bool{
		"3.51.3": true, "3.51.4": true, "3.54.1": true, "4.0.0": true, "3.100.0": true,
		"3.51.2": false, "3.50.9": false, "2.99.99": false, "3.7.0": false, "": false, "3.x.1": false, "3.51": false,
	} {
		if err := atLeast(version, leastSQLite); (err == nil) != ok {
			t.Errorf("%q: %v, want accepted %v", version, err, ok)
		}
	}
	d, err := openDB(t.Context(), dbConfig{Dir: filepath.Join(t.TempDir(), "state")})
	if err != nil {
		t.Fatal(err)
	}
	if atLeast(d.version, leastSQLite) != nil {
		t.Errorf("opened with SQLite %s", d.version)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
