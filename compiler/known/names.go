package known

import (
	"slices"
	"strings"

	"github.com/ringd/ringd/profiles/spelling"
)

// distribution returns the module of a package that is installed under another name, and the usual name of
// the package.
func distribution(name string) (module, of string) {
	switch strings.ToLower(name) {
	case "pillow":
		return "PIL", "Pillow"
	case "pyyaml":
		return "yaml", "PyYAML"
	case "beautifulsoup4", "beautifulsoup":
		return "bs4", "Beautiful Soup"
	case "scikit_learn":
		return "sklearn", "scikit-learn"
	case "opencv_python":
		return "cv2", "OpenCV"
	case "python_dateutil":
		return "dateutil", "dateutil"
	case "protobuf":
		return "google.protobuf", "protobuf"
	case "pyjwt":
		return "jwt", "PyJWT"
	case "pyserial":
		return "serial", "pySerial"
	case "pycryptodome", "pycrypto":
		return "Crypto", "PyCryptodome"
	case "psycopg2_binary":
		return "psycopg2", "psycopg2"
	case "faiss_cpu":
		return "faiss", "faiss"
	default:
		return "", ""
	}
}

// isJavaScriptName reports whether a name is a JavaScript module and not a known Python package.
func isJavaScriptName(name string) bool {
	switch name {
	case "fs", "child_process", "worker_threads", "async_hooks", "perf_hooks", "lodash", "axios", "express", "react",
		"zod", "commander":
		return true
	default:
		return false
	}
}

// isKnownPackage reports whether a name is a widely used package, so that it is not taken for a misspelt standard
// library module.
func isKnownPackage(name string) bool {
	switch name {
	case "attr", "attrs", "boto3", "bs4", "cffi", "click", "cv2", "dateutil", "django", "dotenv", "fastapi", "flask",
		"gensim", "google", "h5py",
		"httpx", "idna", "jinja2", "joblib", "jwt", "keras", "lxml", "markdown", "mlflow", "msgpack", "networkx",
		"nltk", "numba", "numpy", "openai",
		"openpyxl", "orjson", "pandas", "patsy", "plotly", "polars", "psutil", "pyarrow", "pydantic", "pytest", "pytz",
		"redis", "regex", "requests",
		"rich", "scipy", "seaborn", "simplejson", "six", "sklearn", "spacy", "sqlalchemy", "statsmodels", "sympy",
		"tabulate", "toml", "tomli", "torch",
		"tqdm", "typer", "typing_extensions", "tzdata", "ujson", "urllib3", "xlrd", "xmltodict", "yaml", "zipp",
		"zstandard":
		return true
	default:
		return false
	}
}

// builtins warns of builtin names that do not exist.
func (c *importChecker) builtins() {
	names := builtinNames()
	for _, r := range c.python.DenyBuiltins {
		if slices.Contains(names, r.Name) {
			continue
		}
		hint := ""
		if i := spelling.Of(r.Name, names, spelling.Effort{Names: 1000, Letters: 100_000}); i >= 0 {
			hint = "did you mean " + names[i] + "?"
		}
		c.warn(CodeImportNever, r.Rule, hint, "Python has no builtin called %s", r.Name)
	}
}

// builtinNames lists dir(builtins) of CPython 3.10 to 3.14, without its exceptions.
func builtinNames() []string {
	return strings.Fields(`
		Ellipsis False None NotImplemented True __build_class__ __debug__ __import__ abs aiter all anext any ascii
		bin bool breakpoint bytearray bytes callable chr classmethod compile complex copyright credits delattr dict
		dir divmod enumerate eval exec exit filter float format frozenset getattr globals hasattr hash help hex id
		input int isinstance issubclass iter len license list locals map max memoryview min next object oct open ord
		pow print property quit range repr reversed round set setattr slice sorted staticmethod str sum super tuple
		type vars zip`)
}
