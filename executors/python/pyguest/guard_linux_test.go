package pyguest_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors/python/pyproto"
	"github.com/ringd/ringd/profiles"
)

// guarded is a program under the guard alone: it is benign, or asks for what is
// harmless and refused. Attacks run in guests of the kernel ring.
type guarded struct {
	Text   string           `json:"text"`
	Update *pyproto.Profile `json:"update,omitempty"` // the host says it before the first import
	Before bool             `json:"before,omitempty"` // and before the program begins
}

// guardEnd is how it ended.
type guardEnd struct {
	Error, Message, Name, Filename string
	Mine                           bool
	Out                            []string
	Denials                        []profiles.Decision
	Imports                        []string
	Report                         *pyproto.Report
}

// ask runs testdata/guarded.py.
func ask(t testing.TB, python string, question map[string]any, answer any) {
	t.Helper()
	folder, err := filepath.Abs("py")
	if err != nil {
		t.Fatal(err)
	}
	driver, err := filepath.Abs("testdata/guarded.py")
	if err != nil {
		t.Fatal(err)
	}
	question["folder"] = folder
	in, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-I", "-S", "-B", "-X", "utf8", driver)
	cmd.Dir, cmd.Env, cmd.Stdin = t.TempDir(), []string{}, bytes.NewReader(in)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, errs.String(), out)
	}
	if err := json.Unmarshal(out, answer); err != nil {
		t.Fatalf("%v: %s%s", err, errs.String(), out)
	}
}

// programs runs them one after another in one interpreter, as those of a session.
func programs(t testing.TB, python string, p pyproto.Profile, texts ...guarded) []guardEnd {
	t.Helper()
	var got struct{ Ends []guardEnd }
	ask(t, python, map[string]any{"profile": p, "programs": texts}, &got)
	if len(got.Ends) != len(texts) {
		t.Fatalf("%d programs ended, of %d", len(got.Ends), len(texts))
	}
	return got.Ends
}

// apart runs each in a process of its own, and gives their ends by name.
func apart(t testing.TB, python string, p pyproto.Profile, texts map[string]string) map[string]guardEnd {
	t.Helper()
	names, list := slices.Sorted(maps.Keys(texts)), []guarded{}
	for _, n := range names {
		list = append(list, guarded{Text: texts[n]})
	}
	var got struct{ Ends []guardEnd }
	ask(t, python, map[string]any{"profile": p, "programs": list, "apart": true}, &got)
	if len(got.Ends) != len(list) {
		t.Fatalf("%d programs ended, of %d", len(got.Ends), len(list))
	}
	ends := map[string]guardEnd{}
	for i, n := range names {
		ends[n] = got.Ends[i]
	}
	return ends
}

func listed(names ...string) (out []profiles.ImportRule) {
	for i, n := range names {
		out = append(out, profiles.ImportRule{Name: n, Rule: profiles.Rule{File: "p.yaml", Line: 7 + i, Column: 3}})
	}
	return out
}

// guardProfile is that of an agent with these imports.
func guardProfile(im profiles.Imports) pyproto.Profile {
	return pyproto.ProfileOf(pyproto.ProfileConfig{Agent: &profiles.Agent{Python: &profiles.Python{Imports: im}},
		Revision: "r1",
		Read:     []string{"/usr/share/zoneinfo"}, Write: []string{os.TempDir()}})
}

// TestGuardRefuses: whichever way a program spells an import, a denied module is
// refused with its name, the rule and what is allowed instead. colorsys is harmless.
func TestGuardRefuses(t *testing.T) {
	spellings := map[string]string{
		"statement":      "import colorsys",
		"alias":          "import json as j, colorsys as c",
		"from":           "from colorsys import rgb_to_hsv",
		"function":       "def f():\n  import colorsys\nf()",
		"__import__":     "__import__('color' + 'sys')",
		"keyword":        "__import__(name='colorsys', level=0)",
		"import_module":  "import importlib\nimportlib.import_module('colorsys')",
		"gcd_import":     "import importlib\nimportlib._bootstrap._gcd_import('colorsys')",
		"importlib's":    "import importlib\nimportlib.__import__('colorsys')",
		"exec":           "exec('import colorsys')",
		"exec globals":   "exec('import colorsys', {})",
		"real builtins":  "import json\nexec('import colorsys', {'__builtins__': json.__builtins__})",
		"real import":    "import json\njson.__builtins__['__import__']('colorsys')",
		"library's own":  "import json\nexec('import colorsys', vars(json))",
		"eval":           "eval(\"__import__('colorsys')\")",
		"pickle":         "import pickle\npickle.loads(b'ccolorsys\\nrgb_to_hsv\\n.')",
		"python pickle":  "import pickle, io\npickle._Unpickler(io.BytesIO(b'ccolorsys\\nrgb_to_hsv\\n.')).load()",
		"pkgutil":        "import pkgutil\npkgutil.resolve_name('colorsys:rgb_to_hsv')",
		"mock":           "import unittest.mock as m\nwith m.patch('colorsys.ONE_THIRD', 1): pass",
		"logging":        "import logging.config\ntry: logging.config.DictConfigurator({}).resolve('colorsys.rgb_to_hsv')\nexcept ValueError as e: raise e.__cause__",
		"thread":         "import threading, importlib\nr = []\ndef f():\n  try: importlib.import_module('colorsys')\n  except Exception as e: r.append(e)\nt = threading.Thread(target=f); t.start(); t.join()\nraise r[0]",
		"pool":           "import concurrent.futures as c, importlib\nwith c.ThreadPoolExecutor(1) as p: p.submit(importlib.import_module, 'colorsys').result()",
		"map":            "import importlib\nlist(map(importlib.import_module, ['colorsys']))",
		"lying name":     "class S(str):\n  __eq__ = lambda s, o: False\n  __hash__ = lambda s: 1\n  startswith = partition = rpartition = lambda s, *a: ''\n  __str__ = __repr__ = lambda s: 'json'\n__import__(S('colorsys'))",
		"from submodule": "from urllib import robotparser",
		"reload":         "import importlib.util, sys, types, json\nm = types.ModuleType('colorsys'); m.__spec__ = importlib.util.find_spec('json')\nm.__spec__.name = 'colorsys'; sys.modules['colorsys'] = m\nimport colorsys",
		"finder gone":    "import sys\nsys.meta_path[:] = sys.meta_path[:]\nsys.path_importer_cache.clear()\nimport colorsys",
		"patched":        "import builtins, json\nfor n in ('any', 'issubclass', 'isinstance', 'frozenset', 'id'): json.__builtins__[n] = lambda *a: False; setattr(builtins, n, None)\nimport colorsys",
		"replaced":       "import json\n__builtins__['__import__'] = json.__builtins__['__import__']\nimport colorsys",
		"loader":         "import importlib.machinery as m, importlib.util as u\ns = m.PathFinder.find_spec('colorsys')\nx = u.module_from_spec(s)\ns.loader.exec_module(x)",
		"other name":     "import importlib.machinery as m, importlib.util as u\ns = u.spec_from_file_location('json.x', m.PathFinder.find_spec('colorsys').origin)\nx = u.module_from_spec(s)\ns.loader.exec_module(x)",
		"load_module":    "import importlib.machinery as m\nm.SourceFileLoader('json.x', m.PathFinder.find_spec('colorsys').origin).load_module()",
		"unlocked":       "import importlib\nb = importlib._bootstrap\nb._find_and_load_unlocked('colorsys', b._gcd_import)",
		"own file":       "import sys, tempfile\nd = tempfile.mkdtemp()\nopen(d + '/mathlib.py', 'w').write('import colorsys')\nsys.path.insert(0, d)\nimport mathlib",
		"own shadow":     "import sys, tempfile\nd = tempfile.mkdtemp()\nopen(d + '/colorsys.py', 'w').write('')\nsys.path.insert(0, d)\nimport colorsys",
		"by path":        "import importlib.util as u, tempfile\nd = tempfile.mkdtemp()\nopen(d + '/h.py', 'w').write('import colorsys')\ns = u.spec_from_file_location('h', d + '/h.py'); m = u.module_from_spec(s); s.loader.exec_module(m)",
		"zip":            "import sys, tempfile, zipfile\nd = tempfile.mkdtemp()\nwith zipfile.ZipFile(d + '/z.zip', 'w') as z: z.writestr('inzip.py', 'import colorsys')\nsys.path.insert(0, d + '/z.zip')\nimport importlib\nimportlib.import_module('inzip')",
		"finder":         "import sys\nimport importlib.machinery as m\nclass F:\n  def find_spec(n, p=None, t=None):\n    if n == 'json.tool': return m.PathFinder.find_spec('colorsys')\nsys.meta_path.insert(0, F)\nimport json.tool",
	}
	each(t, func(t *testing.T, python string) {
		p := guardProfile(profiles.Imports{Default: true, Deny: listed("colorsys", "urllib.robotparser")})
		for name, e := range apart(t, python, p, spellings) {
			t.Run(name, func(t *testing.T) {
				if e.Error != "ModuleNotFoundError" || !e.Mine || len(e.Denials) == 0 {
					t.Fatalf("got %+v", e)
				}
				want := "colorsys"
				if name == "from submodule" {
					want = "urllib.robotparser"
				}
				d := e.Denials[len(e.Denials)-1]
				if e.Name != want || !strings.Contains(e.Message, "\""+want+"\"") ||
					!strings.Contains(e.Message, "(p.yaml:") || !strings.Contains(e.Message, "; allowed: ") {
					t.Errorf("it does not say name, rule and what is allowed: %+v", e)
				}
				if d.Evidence == nil || len(d.Evidence.Argv) != 1 || d.Evidence.Argv[0] != want {
					t.Errorf("the denial names %+v", d.Evidence)
				}
				if d.Verdict != profiles.Deny || d.Code != profiles.CodeImportDenied || d.Rule == nil ||
					d.Rule.File != "p.yaml" || d.Rule.Column != 3 || d.Revision != "r1" ||
					!strings.Contains(d.Reason, want) {
					t.Errorf("the denial is %+v", d)
				}
			})
		}
	})
}

// TestGuardLetsPass: what ordinary programs do, with the denials that break them under
// a guard that does not know whose import it is.
func TestGuardLetsPass(t *testing.T) {
	texts := map[string]string{
		"json":           "import json\nsay(json.dumps({'a': 1}))",
		"asyncio":        "import asyncio\nasync def f(): await asyncio.sleep(0); return 1\nsay(asyncio.run(f()))",
		"mock":           "import unittest.mock as m, os\nwith m.patch('os.getcwd', lambda: 'x'): say(os.getcwd())",
		"mock open":      "import unittest.mock as m\nwith m.patch('builtins.open', m.mock_open(read_data='hi')): say(open('x').read())",
		"builtins":       "import builtins\nbuiltins.shown = 3\nsay(shown)",
		"strptime":       "import datetime\nsay(datetime.datetime.strptime('2024', '%Y').year)",
		"names":          "say('\\N{BULLET}')",
		"pickle":         "import pickle\nclass C: pass\nsay(type(pickle.loads(pickle.dumps(C()))).__name__)",
		"copy":           "import copy, datetime\nsay(copy.deepcopy(datetime.date(2024, 1, 1)))",
		"logging":        "import logging.handlers\nlogging.getLogger().error('x')",
		"doctest":        "import doctest, types\nm = types.ModuleType('m')\nm.__doc__ = '>>> 1 + 1\\n2\\n'\nsay(doctest.testmod(m))",
		"email":          "import email.message, email.mime.text\nsay(email.mime.text.MIMEText('x').get_content_type())",
		"codec":          "say('x'.encode('cp1252'), 'x'.encode('utf-16-be'))",
		"sqlite":         "import sqlite3\nsay(sqlite3.connect(':memory:').execute('select 1').fetchone()[0])",
		"namedtuple":     "import collections, dataclasses, enum\nsay(collections.namedtuple('P', 'x')(1))\n@dataclasses.dataclass\nclass D:\n  x: int = 0\nsay(D())",
		"zoneinfo":       "import zoneinfo\nsay(zoneinfo.ZoneInfo('UTC'))",
		"tempfile":       "import tempfile, shutil, os\nd = tempfile.mkdtemp()\nopen(d + '/a', 'w').write('1')\nos.mkdir(d + '/b'); os.rename(d + '/a', d + '/b/c'); shutil.rmtree(d)\nsay(os.path.exists(d))",
		"pathlib":        "import pathlib, tempfile\nwith tempfile.TemporaryDirectory() as d:\n  p = pathlib.Path(d) / 'a'; p.write_text('x'); p.touch(); (p.parent / 'l').symlink_to('a'); say(list(p.parent.glob('*'))[0].name in 'al')",
		"threads":        "import threading, queue\nq = queue.Queue(); t = threading.Thread(target=q.put, args=(1,)); t.start(); say(q.get()); t.join()",
		"reload":         "import importlib, json\nsay(importlib.reload(json) is json)",
		"optional":       "try: import nothing_of_that_name\nexcept ModuleNotFoundError: say('no')",
		"metadata":       "import importlib.metadata, importlib.resources, inspect, typing, ast\nsay(inspect.signature(lambda a: a))",
		"traced":         "import traceback\ntry: 1 / 0\nexcept ZeroDivisionError: say(traceback.format_exc()[:9])",
		"warnings":       "import warnings\nwith warnings.catch_warnings(): warnings.simplefilter('ignore'); warnings.warn('x')",
		"big numbers":    "say(len(str(7 ** 5000)))",
		"star":           "from os.path import *\nfrom math import *\nsay(join('a', 'b'), sqrt(4))",
		"fraction":       "import fractions, decimal, statistics, random\nsay(fractions.Fraction(decimal.Decimal('0.5')), statistics.mean([1, 2]))",
		"own module":     "import sys, os, tempfile\nd = tempfile.mkdtemp(); os.mkdir(d + '/helpers')\nopen(d + '/helpers/__init__.py', 'w').write('from .calc import mean')\nopen(d + '/helpers/calc.py', 'w').write('import statistics\\ndef mean(x): return statistics.fmean(x)')\nsys.path.insert(0, d)\nimport helpers\nfrom helpers import calc\nsay(helpers.mean([1, 2]), calc.__builtins__ is __builtins__)",
		"own discovered": "import unittest, os, sys, tempfile\nd = tempfile.mkdtemp(); sys.path.append(d)\nopen(d + '/test_it.py', 'w').write('import unittest\\nclass T(unittest.TestCase):\\n  def test_a(self): pass')\nsay(unittest.defaultTestLoader.discover(d).countTestCases())",
		"profiler":       "import cProfile\ndef f(): import json\np = cProfile.Profile(); p.runcall(f); p.runcall(f)\nq = cProfile.Profile(); q.enable(); f(); q.disable()\nsay([s.callcount for s in p.getstats() if getattr(s.code, 'co_name', '') == 'f'], [s.code for s in q.getstats() if 'ringd' in getattr(s.code, 'co_filename', '')])",
		"made module":    "import sys, types\nsys.modules['made'] = types.ModuleType('made')\nimport made\nsay(made.__name__)",
		"own code":       "def f(): return 1\nf.__code__ = f.__code__.replace(co_consts=(None, 2))\nsay(f())",
		"exec":           "exec('import json; x = json.dumps(1)')\nsay(x, eval('2'))",
		"unittest":       "import unittest, io\nclass T(unittest.TestCase):\n  def test_a(self): self.assertEqual(1, 1)\nsay(unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(T)).wasSuccessful())",
	}
	each(t, func(t *testing.T, python string) {
		p := guardProfile(profiles.Imports{Default: true, Deny: listed(
			"js", "jso", "subprocess", "socket", "ssl", "ctypes", "selectors", "colorsys")})
		for name, e := range apart(t, python, p, texts) {
			t.Run(name, func(t *testing.T) {
				if e.Error != "" || name != "logging" && name != "warnings" && len(e.Out) == 0 {
					t.Fatalf("got %+v", e)
				}
			})
		}
	})
}

// TestGuardTellsNoOptionalImport: a library that tries a package which is not there is
// no refusal of the program: pickle and copy look for Jython's.
func TestGuardTellsNoOptionalImport(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		p := guardProfile(profiles.Imports{Default: true, Deny: listed("requests")})
		p.Library = []string{}
		for name, e := range apart(t, python, p, map[string]string{
			"pickle": "import pickle\nsay(pickle.loads(pickle.dumps(1)))",
			"copy":   "import copy\nsay(copy.copy([1]))",
		}) {
			if e.Error != "" || len(e.Out) == 0 || len(e.Denials) > 0 {
				t.Errorf("%s: %+v", name, e)
			}
		}
	})
}

// TestGuardStepsOn: listing a.b lets a load on the way to it, and not for itself.
func TestGuardStepsOn(t *testing.T) {
	texts := map[string]string{
		"statement": "import xml.etree.ElementTree as e\nsay(e.fromstring('<a/>').tag)",
		"from":      "from xml.etree import ElementTree as e\nsay(e.fromstring('<a/>').tag)",
		"module":    "import importlib\nsay(importlib.import_module('xml.etree.ElementTree').__name__)",
		"parent":    "import xml.etree",
		"beside":    "from xml.etree import ElementTree, cElementTree",
		"attribute": "from xml import etree",
	}
	each(t, func(t *testing.T, python string) {
		p := guardProfile(profiles.Imports{Allow: listed("xml.etree.ElementTree", "importlib"),
			Rule: profiles.Rule{File: "p.yaml", Line: 6, Column: 2}})
		for name, e := range apart(t, python, p, texts) {
			if refused := e.Error == "ModuleNotFoundError" &&
				e.Mine; refused != (name == "parent" || name == "beside" || name == "attribute") || !refused &&
				e.Error != "" {
				t.Errorf("%s: %+v", name, e)
			}
			if e.Mine && (!strings.Contains(e.Message, "(p.yaml:6:2); allowed: ") || e.Denials[0].Rule == nil ||
				e.Denials[0].Rule.Line != 6) {
				t.Errorf("%s does not say which list: %+v", name, e)
			}
		}
	})
}

// TestGuardEvents: what reaches out of the process is refused as it happens, with what
// is granted instead, the path where one is meant, and a row for each; what belongs to
// an ordinary program is not. A trace function, which would see the guard, is refused.
func TestGuardEvents(t *testing.T) {
	refused := map[string]string{
		"read":      "open('/nowhere/x')",
		"bytes":     "import os\nos.open(b'/nowhere/../nowhere/x', os.O_RDONLY)",
		"write":     "open('/usr/share/zoneinfo/x', 'w')",
		"link":      "import os, tempfile\nos.symlink('/nowhere/x', tempfile.mkdtemp() + '/l')",
		"list":      "import os\nos.listdir('/nowhere')",
		"database":  "import sqlite3\nsqlite3.connect('file:/nowhere/x.db?mode=ro', uri=True)",
		"fork":      "import os\nos.fork()",
		"process":   "import os\nos.system('true')",
		"socket":    "import _socket\n_socket.socket(2, 1)",
		"resolve":   "import _socket\n_socket.getaddrinfo('localhost', 1)",
		"signal":    "import os\nos.kill(os.getppid(), 0)",
		"trace":     "import sys\nsys.settrace(lambda *a: None)",
		"objects":   "import gc\ngc.get_referrers(1)",
		"pool":      "import gc, concurrent.futures as c\nwith c.ThreadPoolExecutor(1) as p: p.submit(gc.get_objects).result()",
		"marshal":   "import sys\nsys.modules['marshal'].loads(b'N')",
		"its name":  "import os\ncompile('1\\n', os.__file__, 'exec')",
		"our name":  "compile('1\\n', '<ringd>', 'exec')",
		"code":      "(lambda: 0).__code__.replace(co_filename='<frozen os>')",
		"liar":      "import sys\nclass L(str):\n  __eq__ = lambda s, o: True\n  startswith = lambda s, *a: True\nsys.audit('open', L('/nowhere/x'), 'r', 0)",
		"no path":   "import sys\nclass P:\n  __class__ = property(lambda s: say('called'))\n  __fspath__ = __str__ = lambda s: say('called')\nsys.audit('open', P(), 'r', 0)",
		"nonsense":  "import sys\nsys.audit('os.rename')",
		"call eval": "eval('1')",
	}
	pass := map[string]string{
		"socketpair": "import _socket\na, b = _socket.socketpair()\na.send(b'x'); say(b.recv(1))",
		"null":       "open('/dev/null', 'w').write('x'); say(1)",
		"own signal": "import os\nos.kill(os.getpid(), 0); say(1)",
		"no trace":   "import sys\nsay(sys.gettrace())",
		"memory":     "import sqlite3\nsay(sqlite3.connect('file::memory:?cache=shared', uri=True))",
		"own object": "import gc\nsay(gc.collect() >= 0)",
	}
	each(t, func(t *testing.T, python string) {
		p := pyproto.ProfileOf(pyproto.ProfileConfig{
			Agent: &profiles.Agent{Python: &profiles.Python{
				DenyBuiltins: listed("eval"), Imports: profiles.Imports{
					Default: true, Allow: listed("_socket", "sys")}}},
			Read: []string{"/usr/share/zoneinfo", "/data"}, Write: []string{os.TempDir()},
		})
		for name, e := range apart(t, python, p, refused) {
			known := e.Mine || name == "objects" && e.Error == "PermissionError"
			if e.Error != "PermissionError" || !known || len(e.Out) > 0 || name != "nonsense" && len(e.Denials) == 0 {
				t.Errorf("%s: %+v", name, e)
			}
			if name == "read" || name == "bytes" {
				if e.Filename != "/nowhere/x" || !strings.Contains(e.Message, "(write), /data (read)") ||
					e.Denials[0].Code != profiles.CodeFileNotGranted {
					t.Errorf("%s: %+v", name, e)
				}
			}
			if name == "call eval" && !strings.Contains(e.Message, "builtin eval is denied by policy (p.yaml:7:3)") {
				t.Errorf("%s: %+v", name, e)
			}
		}
		for name, e := range apart(t, python, p, pass) {
			if e.Error != "" || len(e.Out) == 0 {
				t.Errorf("%s: %+v", name, e)
			}
		}
		p.Network = profiles.NetworkOwn // the kernel's egress ring decides
		if e := programs(t, python, p,
			guarded{Text: "import _socket\n_socket.socket(2, 1).close()"})[0]; e.Error != "" {
			t.Errorf("a network of its own: %+v", e)
		}
	})
}

// TestGuardFollowsTheHost: an update that came before an import decides it, for what is
// loaded too; what is loaded and denied is reported.
func TestGuardFollowsTheHost(t *testing.T) {
	each(t, func(t *testing.T, python string) {
		wide := guardProfile(profiles.Imports{Default: true})
		narrow := guardProfile(profiles.Imports{Default: true, Deny: listed("json")})
		narrow.EndOnDenied = true
		ends := programs(t, python, wide,
			guarded{Text: "import json.decoder\nfrom os import path"},
			guarded{Text: "import json", Update: &narrow},
			guarded{Text: "import json", Update: &wide},
			guarded{Text: "import json", Update: &narrow, Before: true})
		if ends[0].Error != "" || !slices.Equal(ends[0].Imports, []string{"json.decoder", "os", "os.path"}) {
			t.Errorf("at first: %+v", ends[0])
		}
		if ends[1].Error != "ModuleNotFoundError" || ends[2].Error != "" ||
			!slices.Equal(ends[2].Imports, []string{"json"}) {
			t.Errorf("denied: %+v, and allowed again: %+v", ends[1], ends[2])
		}
		wrapped := programs(t, python, narrow, guarded{Text: "try: import json\nexcept ImportError as e: raise " +
			"ValueError('x') from e"}, guarded{Text: "raise ModuleNotFoundError('x')"})
		if !wrapped[0].Mine || wrapped[0].Error != "ValueError" || wrapped[1].Mine {
			t.Errorf("what a refusal caused: %+v", wrapped)
		}
		if r := ends[3].Report; r == nil || !r.Ends || !slices.Equal(r.Loaded, []string{"json", "json.decoder"}) ||
			ends[3].Error != "ModuleNotFoundError" {
			t.Errorf("reported: %+v", ends[3])
		}
	})
}
