package command

import "strings"

// harmlessValue gives what tells the values of a variable apart that change
// nothing that counts; nil: it has none.
func harmlessValue(name string) func(value string) bool {
	switch name {
	case "EDITOR", "VISUAL", "FCEDIT":
		return oneOf("", ":")
	case "PAGER", "MANPAGER":
		return oneOf("", "cat")
	case "LESS", "MORE":
		return lessOptions
	case "LESSHISTFILE", "HISTFILE":
		return oneOf("", "-", "/dev/null")
	case "LESSOPEN", "LESSCLOSE", "BROWSER":
		return oneOf("")
	case "GIT_SSH_VARIANT", "LD_BIND_NOW", "MALLOC_CHECK_", "GIT_CONFIG_NOSYSTEM":
		return plain
	case "PS4":
		return func(v string) bool { return !strings.Contains(v, "$(") && !strings.ContainsAny(v, "`@[") }
	case "ENV":
		return plain
	case "LANG", "LANGUAGE", "TERM":
		return func(v string) bool { return !strings.Contains(v, "/") }
	case "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG":
		return oneOf("/dev/null")
	case "NODE_OPTIONS":
		return nodeOptions
	case "PYTHONWARNINGS":
		return oneOf("", "ignore", "default", "error", "always", "once", "module", "d", "e", "i")
	case "RUBYOPT":
		return tokens(func(t string) bool { return strings.HasPrefix(t, "-W") || t == "--disable-gems" || t == "--yjit" })
	case "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_OPTS", "MAVEN_OPTS", "GRADLE_OPTS", "ANT_OPTS", "SBT_OPTS":
		return tokens(func(t string) bool {
			return strings.HasPrefix(t, "-Xm") || strings.HasPrefix(t, "-Xss") || strings.HasPrefix(t, "-Dfile.encoding=") || strings.HasPrefix(t, "-Duser.timezone=")
		})
	case "MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS":
		return tokens(func(t string) bool {
			return t == "--no-print-directory" || t == "--silent" || strings.HasPrefix(t, "--jobs=") || strings.Trim(strings.TrimPrefix(t, "-"), "jskniw0123456789") == ""
		})
	case "GOFLAGS":
		return goFlags
	case "GOWORK":
		return oneOf("", "off")
	case "GOTOOLCHAIN":
		return oneOf("local", "auto", "")
	case "GOPROXY":
		return oneOf("", "off", "direct", "https://proxy.golang.org", "https://proxy.golang.org,direct")
	case "GOSUMDB":
		return oneOf("", "sum.golang.org")
	case "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LIBS", "CGO_CFLAGS", "CGO_CXXFLAGS", "CGO_CPPFLAGS", "CGO_LDFLAGS", "CGO_FFLAGS":
		return compilerFlags
	case "RUSTFLAGS", "RUSTDOCFLAGS":
		return oneOf("", "-D warnings", "-Dwarnings", "-C target-cpu=native", "-Awarnings", "-A warnings", "--cap-lints warn")
	}
	lower := strings.ToLower(name)
	switch {
	case strings.HasPrefix(name, "LC_"):
		return func(v string) bool { return !strings.Contains(v, "/") }
	case strings.HasSuffix(name, "_PAGER"):
		return oneOf("", "cat")
	case strings.HasSuffix(name, "_EDITOR"):
		return oneOf("", ":")
	case strings.HasSuffix(name, "ASKPASS"):
		return oneOf("")
	case strings.HasPrefix(name, "GIT_TRACE"), strings.HasPrefix(name, "GIT_TR2"):
		return oneOf("", "0", "1", "2", "true", "false")
	case strings.HasSuffix(lower, "_proxy"):
		return oneOf("")
	case strings.HasPrefix(name, "TF_CLI_ARGS"):
		return oneOf("", "-no-color", "-input=false", "-no-color -input=false")
	default:
		return nil
	}
}

func oneOf(values ...string) func(string) bool {
	return func(v string) bool {
		for _, one := range values {
			if v == one {
				return true
			}
		}
		return false
	}
}

// tokens reports whether ok holds for each word of a value.
func tokens(ok func(string) bool) func(string) bool {
	return func(v string) bool {
		if strings.ContainsAny(v, "`$;|&<>()'\"\\\n") {
			return false
		}
		for t := range strings.FieldsSeq(v) {
			if !ok(t) {
				return false
			}
		}
		return true
	}
}

// plain is letters, digits, - and _.
func plain(v string) bool {
	for _, c := range v {
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// lessOptions are letters alone, without those that write a log or run a command.
func lessOptions(v string) bool {
	return tokens(func(t string) bool {
		return strings.Trim(strings.TrimPrefix(t, "-"), "aAcCeEfFgGiIJKLmMnNqQrRsSuUwWXx0123456789") == ""
	})(v)
}

func nodeOptions(v string) bool {
	return tokens(func(t string) bool {
		name, _, _ := strings.Cut(t, "=")
		switch strings.ReplaceAll(name, "_", "-") {
		case "--max-old-space-size", "--max-semi-space-size", "--max-http-header-size", "--no-warnings", "--trace-warnings", "--trace-deprecation", "--no-deprecation", "--throw-deprecation", "--enable-source-maps",
			"--experimental-vm-modules", "--unhandled-rejections", "--stack-trace-limit", "--dns-result-order", "--openssl-legacy-provider", "--preserve-symlinks", "--experimental-json-modules":
			return true
		default:
			return false
		}
	})(v)
}

func goFlags(v string) bool {
	return tokens(func(t string) bool {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(t, "-"), "-"), "=")
		switch name {
		case "mod":
			return value == "mod" || value == "vendor" || value == "readonly"
		case "v", "race", "trimpath", "short", "failfast", "buildvcs", "count", "p", "tags", "timeout", "parallel", "cover", "modcacherw", "json", "x":
			return true
		default:
			return false
		}
	})(v)
}

// compilerFlags are options that load nothing and start nothing.
func compilerFlags(v string) bool {
	return tokens(func(t string) bool {
		switch {
		case strings.HasPrefix(t, "-fplugin"), strings.HasPrefix(t, "-fuse-ld"), strings.HasPrefix(t, "-fpass-plugin"), strings.HasPrefix(t, "-fauto-profile"):
			return false
		case strings.HasPrefix(t, "-W"):
			return !strings.Contains(t, ",") || t == "-Wl,-z,relro" || t == "-Wl,-z,now" || t == "-Wl,--as-needed" || t == "-Wl,-s"
		case strings.HasPrefix(t, "-O"), strings.HasPrefix(t, "-g"), strings.HasPrefix(t, "-f"), strings.HasPrefix(t, "-m"), strings.HasPrefix(t, "-D"), strings.HasPrefix(t, "-U"),
			strings.HasPrefix(t, "-std="), strings.HasPrefix(t, "-I"), strings.HasPrefix(t, "-L"), strings.HasPrefix(t, "-l"):
			return true
		default:
			return t == "-pipe" || t == "-pthread" || t == "-static" || t == "-s" || t == "-w" || t == "-pedantic" || t == "-shared" || t == "-ansi"
		}
	})(v)
}

// VariableInstead gives assignments of a refused variable that pass; nil: there are none.
func VariableInstead(name string) []string {
	harmless := harmlessValue(name)
	if harmless == nil {
		return nil
	}
	for _, v := range []string{"cat", ":", "/dev/null", "1"} {
		if harmless(v) {
			return []string{name + "=" + v}
		}
	}
	return nil
}
