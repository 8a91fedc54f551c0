// This file owns whether a program text of a general interpreter names a way
// to start programs. Package programs asks it of text on a command line. Text that
// names none is allowed: what a program does otherwise is the kernel's to hold, so
// this is a fence and no wall. It reads text as it stands, quotes and comments
// with it, and takes names that could be put together at run time for starts.

package programs

import (
	"regexp"
	"strings"
)

// mostInline is the longest text that is read.
const mostInline = 64 << 10

// inlineStarts reports what in a text of a language starts programs, or could hide that
// it does. A language that is not known is read with all names there are.
func inlineStarts(language, text string) (what string, starts bool) {
	if len(text) > mostInline {
		return "a text that is too long to be read", true
	}
	if disguised(text) {
		return "letters that look like others", true
	}
	lower := strings.ToLower(text)
	for _, pattern := range patterns(language) {
		if general(language) && !possible(pattern, lower) {
			continue
		}
		// The patterns are constants: the tests compile each of them.
		re, err := regexp.Compile(pattern)
		if err != nil {
			return "a pattern that cannot be read", true
		}
		for _, at := range re.FindAllStringIndex(text, -1) {
			found := strings.TrimSpace(text[at[0]:at[1]])
			if language == "python" && pythonHarmless(text, at) {
				continue
			}
			return found, true
		}
	}
	return "", false
}

// general reports a language whose patterns have a name in each of their branches,
// or none in any.
func general(language string) bool {
	switch language {
	case "python", "perl", "ruby", "node", "php", "lua":
		return true
	default:
		return false
	}
}

// possible reports whether one of the names in a pattern stands in a text. Without
// any the pattern cannot match, and need not be compiled, which is what takes time.
func possible(pattern, lower string) bool {
	some := false
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; {
		case c == '\\' && strings.HasPrefix(pattern[i:], `\x`):
			i += 4
		case c == '\\':
			i += 2
		case c == '[':
			for i++; i < len(pattern) && pattern[i] != ']'; i++ {
				if pattern[i] == '\\' {
					i++
				}
			}
		case name(c):
			end := i
			for end < len(pattern) && name(pattern[end]) {
				end++
			}
			run := pattern[i:end]
			if end < len(pattern) && strings.IndexByte("?*{", pattern[end]) >= 0 {
				run = run[:len(run)-1] // the last letter may be missing
			}
			if len(run) > 1 {
				if some = true; strings.Contains(lower, strings.ToLower(run)) {
					return true
				}
			}
			i = end
		default:
			i++
		}
	}
	return !some
}

func name(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// pythonHarmless lets platform.system() pass, which only tells the system's name.
func pythonHarmless(text string, at []int) bool {
	end := at[0] + len("system")
	before := text[:at[0]]
	if strings.HasPrefix(text[at[0]:], ".") {
		end++
		before += "."
	}
	return strings.HasSuffix(before, "platform.") && strings.HasPrefix(text[min(end, len(text)):], "()") && !strings.Contains(text, "as platform")
}

// disguised reports letters that compilers read as ASCII ones: Python does.
func disguised(text string) bool {
	for _, r := range text {
		switch {
		case r < 0x80:
		case r == 0xAA, r == 0xBA, r == 0x17F, r >= 0x2B0 && r <= 0x2FF, r >= 0x1D2C && r <= 0x1DBF, r >= 0x2070 && r <= 0x209F,
			r >= 0x2100 && r <= 0x218F, r >= 0x24B6 && r <= 0x24E9, r >= 0xFB00 && r <= 0xFB06, r >= 0xFF00 && r <= 0xFF5E, r >= 0x1D400 && r <= 0x1D7FF:
			return true
		}
	}
	return false
}

// patterns are the names of a language.
func patterns(language string) []string {
	switch language {
	case "python":
		return []string{
			`\bsubprocess\b`, `\.system\b`, `\bsystem\s*\(`, `\bpopen\w*\b`, `\bPopen\b`, `\b_?posix(subprocess)?\b`, `\bposix_spawnp?\b`, `\b(exec[lv][lpe]{0,2}|spawn[lv][lpe]{0,2})\b`, `\bfork(pty)?\b`, `\bstartfile\b`,
			`\bpty\b`, `\bpexpect\b`, `\bplumbum\b`, `\bmultiprocessing\b`, `\bProcessPoolExecutor\b`, `\bcreate_subprocess\w*`, `\bsubprocess_(shell|exec)\b`, `\bctypes\b`, `\bcffi\b`, `__import__`, `\bimportlib\b`, `\bimp\b\s*\.`, `\bpkgutil\b`,
			`\bexec\s*\(`, `\beval\s*\(`, `\bcompile\s*\(\s*[^)]*["']exec["']`, `\bbuiltins\b`, `__builtins__`, `__subclasses__`, `__globals__`, `__dict__`, `__getattribute__`, `__loader__`, `\bglobals\s*\(`, `\bvars\s*\(\s*os`, `\bgetattr\s*\(\s*(os|sys|__)`, `\bsys\s*\.\s*modules\b`, `\bmodules\s*\[`,
			`\bfrom\s+(os|nt)\s+import\s+[^\n;]*(\*|\bsystem\b|\bpopen\b|\bexec|\bspawn|\bfork)`, `\bimport\s+(sh|invoke|fabric|webbrowser|antigravity|idlelib|pdb|bdb|code|runpy|commands|popen2)\b`, `\bfrom\s+(sh|invoke|fabric|runpy|code|webbrowser|pdb|commands)\b`,
			`\boperator\s*\.\s*(attrgetter|methodcaller)`, `\bfrom\s+operator\b`, `\b(pickle|cPickle|marshal|shelve|dill)\b\s*(\.|\bimport\b)`, `\bimport\b[^\n;]*\b(pickle|cPickle|marshal|shelve|dill)\b`, `\bsetattr\s*\(`, `\bspawn\s*\(`, `\bos\s*\.\s*__`, `\bbreakpoint\s*\(`, `\bpydoc\b`, `\btimeit\b`, `\bcProfile\b`, `\bcode\s*\.\s*interact`,
		}
	case "perl":
		return []string{
			`(^|[;{}(&|=!?:,\n]|\b(and|or|not|if|unless|do|return|BEGIN|END|else|print|say|my\s*[$@%]\w+\s*=|eval))\s*(CORE::|CORE::GLOBAL::)?(system|exec)\s*[("'$@{\x60<\\%-]`, `(^|[;{}(&=!?,\n]|\b(and|or|not|if|unless|do|return|BEGIN|END))\s*(system|exec)\s+[\w\-/~.]`, `\b(system|exec)\s*\(`, `\b(system|exec)\s+q[qwxr]?\W`, `(?:^|[^\\])\x60`, `\bqx\s*[^\w\s,;=)]`, `\bqx\s+[^=,;)]`, `\breadpipe\b`, `\bsyscall\b`, `\bfork\b`,
			`\bopen\s*\(?[^;]*["'\s]\s*(\|-?|-\|)`, `\bopen\s*\(?[^;]*\|\s*["']`, `\bopen3?\s*\(?\s*[^,;]+,\s*(\$|shift|pop|@|\w+\s*\()[^,;]*(\)|;|$)`, `\bIPC\s*::`, `\bopen[23]\b`, `\beval\s*[^\s{;]`, `\beval\s+[^\s{;]`, `(?:^|[^\w$@%])s([^\w\s]).*[^\w\s]\w*ee`, `\bCORE\b`, `\bDynaLoader\b`, `\bXSLoader\b`, `\bInline\b`, `\bPOSIX\b`, `\bFFI\b`, `&\s*[{$]`, `->\s*\$`, `->\s*\(?&`, `\*\s*\{`, `\bdo\s+["'$]`, `\brequire\s+["'$]`, `\bExpect\b`, `\bProc\s*::`, `\bglob\s*\(?\s*["'][^"']*[\x60|;]`, `\bDB\b\s*::`, `\?\?\{`, `\(\?\{`,
		}
	case "ruby":
		return []string{
			`(^|[;{}(&|=!?:,\n.]|\b(and|or|not|if|unless|do|then|begin|return|puts|p|print))\s*(system|exec|spawn)\s*[("'\x60$@%\[]`, `\s(system|exec|spawn)(\s+["'\x60$@%\[]|\s*\()`, `(^|[;{}\n]|\b(and|or|not|if|unless|do|then|begin|return|puts|p|print))\s*(system|exec|spawn)\s+[^=,;)|\s]`, `\b(popen\d?|Open3|open3|PTY|fork|syscall|Fiddle|DL|Kernel|IO\s*\.\s*(read|readlines|foreach|binread|write)\s*\(?\s*["']\s*\|)\b?`, `\x60`, `%x\s*\W`, `\bopen\s*\(?\s*["']\s*\|`, `\bopen\s*\(?\s*[$@a-z]`, `\b(__send__|public_send|send)\b`, `\b(instance_eval|class_eval|module_eval|instance_exec|eval)\b`, `\b(method|instance_method|const_get|define_method|binding|ObjectSpace)\b`, `:(system|exec|spawn|popen|fork)\b`, `\bProcess\b`, `\bShell\b`, `\bRake\b`, `\bMarshal\b`, `\bload\b\s*\(?\s*["']`, `\bInline\b`,
		}
	case "node":
		return []string{
			`child_process`, `\b(execSync|execFile|execFileSync|spawnSync|spawn|fork)\s*\(`, `\brequire\s*\(\s*[^"'\s)]`, `\brequire\s*\(\s*["'][^"']*["']\s*[^)\s]`, `\brequire\s*\(\s*["'][^"']*\\`, `\bimport\s*\(\s*[^"'\s)]`, `\bimport\s*\(\s*["'][^"']*["']\s*[^)\s]`, `\bimport\s*\(\s*["'][^"']*\\`, `\brequire\s*[^\s(.]`, `\brequire\s*$`, `\brequire\s*\.\s*(main|cache|extensions)`, `\bprocess\s*\.\s*(binding|_linkedBinding|dlopen|mainModule|getBuiltinModule|_\w+)`, `\bprocess\s*\[`, `\bglobal(This)?\s*\[`, `\bglobal(This)?\s*\.\s*(process|require)\b`, `\bmodule\s*\.\s*(constructor|_load|require|parent|children)`, `\bconstructor\b`, `\beval\b`, `\bFunction\s*\(`, `["'](node:)?(vm|worker_threads|cluster|repl|inspector|module|shelljs|execa|cross-spawn|zx)["']`, `\bdlopen\b`, `\bReflect\b`, `__proto__`, `\bBun\s*\.\s*(spawn|spawnSync|\$)`, `\bDeno\s*\.\s*(Command|run|dlopen)`, `\bDeno\s*\[`, `\bBun\s*\[`, `\\u00?\{?[0-9a-fA-F]`, `\bcreateRequire\b`, `\bwith\s*\(`, `\$\x60`,
		}
	case "php":
		return []string{
			`(?i)\b(system|exec|shell_exec|passthru|popen|proc_open|pcntl_exec|pcntl_fork|dl|mail|create_function|assert|eval|expect_popen|ffi)\s*\(`, `\x60`, `(?i)["'](system|exec|shell_exec|passthru|popen|proc_open|pcntl_exec|assert)["']`, `\$\w+\s*\(`, `\$\{`, `["'\])]\s*\(\s*["'$]`, `(?i)\bcall_user_func`, `(?i)\b(include|require)(_once)?\b\s*\(?\s*["']?(data|php|expect|http|\$)`, `(?i)\bFFI\b`, `(?i)\bReflection\w*`, `(?i)\bunserialize\b`, `(?i)\bpreg_replace\s*\(\s*["'].*/\w*e\w*["']`, `(?i)\bClosure\b`,
		}
	case "lua":
		return []string{
			`\bos\s*(\.\s*execute|\[)`, `\bio\s*(\.\s*popen|\[)`, `\bexecute\b`, `\bpopen\b`, `\bload(string|file)?\s*[("'\[]`, `\bdofile\b`, `\bloadlib\b`, `\b_G\b`, `\b_ENV\b`, `\bdebug\s*\.`, `\bgetfenv\b`, `\bffi\b`, `\bposix\b`, `\bpackage\b`, `\brequire\b`, `\bpairs\s*\(\s*(os|io)\b`, `\b(os|io)\s*[,;)]`,
		}
	case "gdb", "ssh", "make", "sqlite3", "psql", "mysql", "dc", "ed", "m4", "awk", "sed", "ftp", "vim":
		return textPatterns(language)
	default:
		return []string{`(?i)(system|exec|spawn|popen|fork|shell|process|command|ccall|ffi|eval|dlopen|loadlib|open_port|import\s+os|subprocess|\brun\b|\bcmd\b|foreign|native)`, `[\x60!]`, `["']\s*[<|]`, `\|\s*["']`}
	}
}

// textPatterns are of languages that are no general ones.
func textPatterns(language string) []string {
	switch language {
	case "sqlite3":
		return []string{`(?im)^\s*\.\s*(she?l?l?|sys?t?e?m?|rea?d?|loa?d?|excel|www|edit)\b`, `(?im)^\s*\.(exc|ww|ed|rea|sh|sy|lo)\w*`, `(?im)^\s*\.(o|once|outp?u?t?|imp?o?r?t?)\w*\s+(-\w+\s+)*["']?\s*\|`, `(?im)^\s*\.(exc|once\s+-[exw]|outp?u?t?\s+-[exw])\w*`, `(?i)\bload_extension\b`, `(?i)\bedit\s*\(`, `(?i)\bfts3_tokenizer\b`}
	case "psql":
		return []string{`\\!`, `(?i)\bprogram\b\s*(e?'|\$)`, `(?im)\\copy\b.*\bprogram\b`, `\\(o|out|g|gx|w|write|copy|s)\b[^\n]*\|`, `\\(e|edit|ef|ev)\b`, `\\[a-z]+\b[^\n]*\x60`, `(?i)\\setenv\b`}
	case "mysql":
		return []string{`\\!`, `(?im)(^|;)\s*system\s`, `\\[PeE.]`, `(?im)(^|;)\s*(pager|edit|source)\s`, `(?i)\binto\s+dumpfile\b`, `(?i)\bsoname\b`}
	case "dc":
		return []string{`![^<>=]`, `!$`}
	case "ed":
		return []string{`!`}
	case "ftp":
		return []string{`!`, `(?im)(^|;|&&|\|\|)\s*(shell|sh|local|edit|source|exec)\b`, `\|`}
	case "gdb":
		return []string{`.`, `\n`}
	case "m4":
		return []string{`\b(e?syscmd|mkstemp|maketemp|builtin|indir|defn|debugfile)\b`}
	case "vim":
		return []string{`!`, `.`}
	}
	return []string{`.`, `\n`}
}
