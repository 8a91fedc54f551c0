package environment

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNeeded(t *testing.T) {
	at := Platform{Version: "3.11.2", Machine: "x86_64"}
	for line, want := range map[string]bool{
		"numpy": true, "numpy>=1.20": true, `numpy ; python_version >= "3.10"`: true, `numpy ; python_version < "3.9"`: false,
		`numpy; python_version < "3.9" or sys_platform == "linux"`:                       true,
		`numpy; (python_version < "3.9" or sys_platform == "linux") and os_name == "nt"`: false,
		`colorama; sys_platform == "win32"`:                                              false,
		`x; platform_machine == 'x86_64'`:                                                true,
		`x; platform_machine == 'aarch64' and python_version >= '3.8'`:                   false,
		`x; platform_release >= "5"`:                                                     true, // not decided
		`x; platform_release >= "5" and sys_platform == "win32"`:                         false,
		`x; extra == "test"`:                                                             false,
		`x; extra == "Some_Extra"`:                                                       true,
		`x; extra != "test"`:                                                             true,
		`x; python_version in "3.9, 3.11"`:                                               true,
		`x; python_version not in "3.9 3.11"`:                                            false,
		`x; python_full_version ~= "3.11.0"`:                                             true,
		`x; python_full_version == "3.11.*"`:                                             true,
		`x; python_full_version != "3.11.*"`:                                             false,
		`x; python_version == "3.11rc1"`:                                                 true, // not decided
		`x; "3.12" > python_version`:                                                     true,
		`x; implementation_name == "pypy"`:                                               false,
		`x; platform_python_implementation != "PyPy"`:                                    true,
		`x; and`:                         true, // cannot be read
		`x; (python_version < "3.9"`:     true, // likewise
		`x; python_version < "3.9" rest`: true,
		`x @ https://example.org/a;b.whl ; python_version < "3"`: false,
	} {
		r, ok := parseRequirement(line)
		if got := r.Needed(at, []string{"some-extra"}); !ok || got != want {
			t.Errorf("%s: %v %v", line, got, ok)
		}
	}
}

func TestParse(t *testing.T) {
	for line, want := range map[string]string{"Foo.Bar__baz (>=1)": "foo-bar-baz", "a[b, C_d]>1": "a", " six": "six",
		"zope.interface>=5;extra=='x'": "zope-interface"} {
		if r, ok := parseRequirement(line); !ok || r.Name != want {
			t.Errorf("%q: %+v", line, r)
		}
	}
	if r, _ := parseRequirement("a[b, C_d]>1"); !cmp.Equal(r.Extras, []string{"b", "c-d"}) {
		t.Errorf("extras %q", r.Extras)
	}
	for _, line := range []string{"", ">=1", "[x]", "-e ."} {
		if r, ok := parseRequirement(line); ok {
			t.Errorf("%q: %+v", line, r)
		}
	}
}

func TestText(t *testing.T) {
	at := Platform{Version: "3.11.2"}
	got := map[string]bool{}
	for _, r := range parseRequirements("six>=1.5\n\n[:python_version < \"3\"]\nfutures\n\n[test]\npytest\n" +
		"[socks:sys_platform == \"win32\"]\nwin-inet\n") {
		got[r.Name] = r.Needed(at, []string{"socks"})
	}
	if diff := cmp.Diff(map[string]bool{"six": true, "futures": false, "pytest": false, "win-inet": false},
		got); diff != "" {
		t.Error(diff)
	}
}

func TestMetadata(t *testing.T) {
	name, version, needs := readMetadata("Metadata-Version: 2.1\nName: Py_Thing\nVersion: 1.2\nRequires-Dist: a\n" +
		"requires-dist: b (>2)\n\nRequires-Dist: c\n")
	if name != "py-thing" || version != "1.2" || len(needs) != 2 {
		t.Errorf("%q %q %v", name, version, needs)
	}
}

func FuzzNeeded(f *testing.F) {
	f.Add(`x; (python_version < "3.9" or extra == 'a') and not`)
	f.Add("((((((((((((((((")
	f.Fuzz(func(t *testing.T, line string) {
		r, ok := parseRequirement(line)
		if ok && r.Name == "" {
			t.Errorf("%q names nothing", line)
		}
		r.Needed(Platform{Version: "3.11.2"}, []string{"a"})
	})
}
