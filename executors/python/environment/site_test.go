package environment

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree makes files by their path; a text "-> x" is a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

type dist struct{ Name, Version, Requires, Entries, Modules string }

func found(s *Site) (out []dist) {
	join := func(l []string) string {
		text := ""
		for _, x := range l {
			text += x + " "
		}
		return text
	}
	for _, d := range s.Dists {
		var names []string
		for _, r := range d.Requires {
			names = append(names, r.Name)
		}
		slices.Sort(names)
		out = append(out, dist{d.Name, d.Version, join(slices.Compact(names)), join(d.Entries), join(d.Modules)})
	}
	return out
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []dist
	}{
		{"a wheel, with its libraries, a single module with byte code, and scripts elsewhere", map[string]string{
			"numpy/__init__.py": "", "numpy.libs/libblas.so": "", "numpy-2.0.dist-info/METADATA": "Name: numpy\nVersion: 2.0\n\n",
			"numpy-2.0.dist-info/RECORD": "numpy/__init__.py,sha256=x,0\nnumpy.libs/libblas.so,,\n../../../bin/f2py,,\n/etc/passwd,,\nnumpy-2.0.dist-info/RECORD,,\n",
			"six.py":                     "", "__pycache__/six.cpython-311.pyc": "", "__pycache__/other.cpython-311.pyc": "",
			"six-1.dist-info/METADATA": "Name: six\nVersion: 1\n", "six-1.dist-info/RECORD": "six.py,,\n__pycache__/six.cpython-311.pyc,,\n\"a,b.txt\",,\n", "a,b.txt": "",
		}, []dist{
			{"numpy", "2.0", "", "numpy numpy-2.0.dist-info numpy.libs ", "numpy "},
			{"six", "1", "", "__pycache__/six.cpython-311.pyc a,b.txt six-1.dist-info six.py ", "six "},
		}},
		{"a name that two packages share", map[string]string{
			"google/cloud/a/x.py": "", "google/cloud/b.py": "", "google/auth/y.py": "", "google/nobody/z.py": "",
			"ga-1.dist-info/METADATA": "Name: ga\nVersion: 1\nRequires-Dist: gb\n", "ga-1.dist-info/RECORD": "google/cloud/a/x.py,,\ngoogle/auth/y.py,,\n",
			"gb-1.dist-info/METADATA": "Name: gb\nVersion: 1\n", "gb-1.dist-info/RECORD": "google/cloud/b.py,,\n",
		}, []dist{
			{"ga", "1", "gb ", "ga-1.dist-info google/auth google/cloud/a ", "google.auth google.cloud.a "},
			{"gb", "1", "", "gb-1.dist-info google/cloud/b.py ", "google.cloud.b "},
		}},
		{"an egg-info of a folder and of a file, one that nobody has installed, and what is no module", map[string]string{
			"yaml/__init__.py": "", "_yaml.cpython-311-x86_64-linux-gnu.so": "", "PyYAML-6.0.egg-info/PKG-INFO": "Name: PyYAML\nVersion: 6.0\n",
			"PyYAML-6.0.egg-info/top_level.txt": "_yaml\nyaml\n", "PyYAML-6.0.egg-info/requires.txt": "six\n[dev]\npytest\n",
			"perf-0.1.egg-info": "Name: perf\nVersion: 0.1\n", "perf.cpython-311-x86_64-linux-gnu.so": "",
			"mine/__init__.py": "", "README.txt": "", "some-data/x": "", "evil.pth": "import os",
		}, []dist{
			{"mine", "", "", "mine ", "mine "},
			{"perf", "0.1", "", "perf-0.1.egg-info perf.cpython-311-x86_64-linux-gnu.so ", "perf "},
			{"pyyaml", "6.0", "pytest six ", "PyYAML-6.0.egg-info _yaml.cpython-311-x86_64-linux-gnu.so yaml ", "_yaml yaml "},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := readSite(tree(t, tt.files), "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, found(s)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDpkg: what metadata leaves out dpkg says, and a package of libraries alone is
// its user's.
func TestDpkg(t *testing.T) {
	site := tree(t, map[string]string{
		"pandas/a.py": "", "pandas/lib.so": "", "pandas-1.egg-info/PKG-INFO": "Name: pandas\nVersion: 1\n", "pandas-1.egg-info/top_level.txt": "pandas\n",
		"numpy/a.py": "", "numpy-1.egg-info/PKG-INFO": "Name: numpy\n", "shim.py": "",
	})
	dpkg := tree(t, map[string]string{
		"info/python3-pandas.list":           "/.\n" + site + "\n" + site + "/pandas\n" + site + "/pandas/a.py\n" + site + "/pandas-1.egg-info\n" + site + "/pandas-1.egg-info/PKG-INFO\n",
		"info/python3-pandas-lib:amd64.list": site + "/pandas\n" + site + "/pandas/lib.so\n",
		"info/python3-numpy:amd64.list":      site + "/numpy\n" + site + "/numpy/a.py\n" + site + "/numpy-1.egg-info/PKG-INFO\n",
		"info/python3-shim.list":             site + "/shim.py\n",
		"info/bash.list":                     "/bin/bash\n",
		"status": "Package: python3-pandas\nDepends: python3-numpy-abi9 (>= 1), python3-pandas-lib | x, python3:any\n\n" +
			"Package: python3-pandas-lib\nDepends: python3-shim\n\nPackage: python3-numpy\nProvides: python3-numpy-abi9, y\n\nPackage: bash\nDepends: python3-shim\n",
	})
	s, err := readSite(site, dpkg)
	if err != nil {
		t.Fatal(err)
	}
	want := []dist{
		{"deb-python3-pandas-lib", "", "deb-python3-shim ", "", ""},
		{"deb-python3-shim", "", "", "shim.py ", "shim "},
		{"numpy", "", "", "numpy numpy-1.egg-info ", "numpy "},
		{"pandas", "1", "deb-python3-pandas-lib numpy ", "pandas pandas-1.egg-info ", "pandas "},
	}
	if diff := cmp.Diff(want, found(s)); diff != "" {
		t.Error(diff)
	}
}

// TestDebian: what this system's pandas needs.
func TestDebian(t *testing.T) {
	const site = "/usr/lib/python3/dist-packages"
	if _, err := os.Stat(site + "/pandas"); err != nil {
		t.Skip("pandas of Debian is not installed")
	}
	s, err := readSite(site, "/var/lib/dpkg")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range s.Find("pandas").Requires {
		names = append(names, r.Name)
	}
	for _, want := range []string{"numpy", "python-dateutil", "pytz", "six"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not in %q", want, names)
		}
	}
	if slices.Contains(names, "requests") {
		t.Errorf("requests is in %q", names)
	}
	if got := s.Providing("requests"); len(got) != 1 || got[0].Name != "requests" {
		t.Errorf("requests is of %+v", got)
	}
}
