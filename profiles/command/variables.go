// This file owns which variables a script may set: those that change what
// an allowed program runs, loads or trusts, or where it writes, are refused, whoever
// sets them. Values that are documented to do nothing pass.
//
// It is pure; packages command and profiles ask it. The table is a fence: what a
// program makes of its environment besides is held by the kernel ring.

package command

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// VariableRefused reports whether setting a variable to a value is refused, and why. With
// maybe the value is not known far enough: the final one decides. A name that is no
// name of a variable is refused.
func VariableRefused(name string, value argv.Word) (reason string, refused, maybe bool) {
	why := reasonFor(name)
	if why == "" {
		return "", false, false
	}
	reason = name + " " + why
	harmless := harmlessValue(name)
	switch {
	case harmless == nil:
		return reason, true, false
	case value.Open:
		return reason, false, true
	case harmless(value.Text):
		return "", false, false
	default:
		return reason, true, false
	}
}

const (
	runs   = "decides which program another one starts"
	loads  = "decides what code or configuration a program loads"
	finds  = "decides which programs and files are found"
	writes = "decides where a program writes"
	trusts = "decides what a program trusts, and whom it talks to"
)

// reasonFor gives the reason why a variable may not be set at all, or not to any
// value; "" when it may.
func reasonFor(name string) string {
	if name == "" || strings.ContainsAny(name, " \t\n=/$`") {
		return "is no name of a variable"
	}
	for _, table := range [...]func(string) string{shell, loader, starting, git, languages, building, tools, network} {
		if why := table(name); why != "" {
			return why
		}
	}
	return ""
}

func hasPrefix(name string, list ...string) bool {
	for _, p := range list {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

func hasSuffix(name string, list ...string) bool {
	for _, s := range list {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

func shell(name string) string {
	switch name {
	case "PATH", "HOME", "CDPATH", "FPATH", "ZDOTDIR", "EXECIGNORE":
		return finds
	case "SHELL", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS0", "PS4", "KSH_ENV", "CONFIG_SHELL", "MAKESHELL":
		return runs
	case "HISTFILE", "INPUTRC":
		return writes
	}
	if hasPrefix(name, "BASH_") || name == "BASH" {
		return runs
	}
	return ""
}

// loader are those of the C library and of what programs load as plugins.
func loader(name string) string {
	switch name {
	case "GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "NLSPATH", "GETCONF_DIR", "TERMINFO", "TERMINFO_DIRS", "TERMCAP", "TERMPATH", "TERM",
		"GTK_MODULES", "GTK_PATH", "GIO_EXTRA_MODULES", "GIO_MODULE_DIR", "QT_PLUGIN_PATH", "LIBGL_DRIVERS_PATH", "SASL_PATH", "LIBPATH", "SHLIB_PATH", "GROFF_TMAC_PATH", "GROFF_FONT_PATH", "GROFF_BIN_PATH", "MONO_PATH", "MONO_CFG_DIR", "P11_KIT_MODULE",
		"OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "OPENSSL_CONF_INCLUDE", "MAGIC", "GS_LIB", "GS_OPTIONS", "FONTCONFIG_FILE", "FONTCONFIG_PATH",
		"LANG", "LANGUAGE":
		return loads
	case "MALLOC_TRACE", "MALLOC_CHECK_":
		return writes
	}
	if hasPrefix(name, "LD_", "DYLD_", "LC_", "GST_PLUGIN", "MAGICK_", "VK_", "TEXMF", "ASAN_", "LIBMYSQL_PLUGIN") {
		return loads
	}
	return ""
}

// starting are those that name a program, or options of one.
func starting(name string) string {
	if name == "PAGER" || name == "EDITOR" || name == "VISUAL" || name == "BROWSER" || name == "FCEDIT" || name == "HGEDITOR" || name == "MANPAGER" ||
		hasSuffix(name, "_PAGER", "_EDITOR", "_BROWSER", "ASKPASS", "_RSH", "_SSH") {
		return runs
	}
	switch name {
	case "LESSOPEN", "LESSCLOSE", "LESSEDIT", "LESS", "MORE", "MANOPT", "MANROFFOPT", "MANROFFSEQ", "FZF_DEFAULT_COMMAND", "FZF_DEFAULT_OPTS", "FZF_DEFAULT_OPTS_FILE",
		"VIMINIT", "EXINIT", "GVIMINIT", "NVIMINIT", "RSYNC_CONNECT_PROG", "TAPE", "CVS_SERVER", "CVSEDITOR", "SSH_SK_HELPER", "SSH_SK_PROVIDER", "SSH_PKCS11_HELPER", "CONDA_EXE", "CONDA_PYTHON_EXE", "COLLECT_GCC", "COLLECT_LTO_WRAPPER", "TMUX_TMPDIR", "HG", "HGMERGE",
		"KUBECTL_EXTERNAL_DIFF", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "DBUS_STARTER_ADDRESS":
		return runs
	case "LESSKEY", "LESSKEYIN", "LESSKEY_CONTENT", "LESSKEY_SYSTEM", "LESSKEYIN_SYSTEM", "MANPATH", "VIM", "VIMRUNTIME", "MYVIMRC", "NVIM_APPNAME", "EMACSLOADPATH", "EMACSDATA",
		"HGRCPATH", "P4CONFIG", "SCREENRC", "SYSSCREENRC", "GNUPGHOME":
		return loads
	case "LESSHISTFILE", "SQLITE_HISTORY", "GDBHISTFILE":
		return writes
	default:
		return ""
	}
}

func git(name string) string {
	switch name {
	case "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_EXEC_PATH", "GIT_CREDENTIAL_HELPER", "GIT_MERGE_TOOL":
		return runs
	case "GIT_TEMPLATE_DIR", "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_INDEX_FILE",
		"GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE", "GIT_QUARANTINE_PATH", "GIT_ATTR_SOURCE", "GIT_IMPLICIT_WORK_TREE", "GIT_PREFIX", "GIT_SUPER_PREFIX":
		return loads
	case "GIT_ALLOW_PROTOCOL", "GIT_PROTOCOL_FROM_USER", "GIT_SSL_NO_VERIFY", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY",
		"GIT_PROXY_SSL_CAINFO", "GIT_CLONE_PROTECTION_ACTIVE", "GIT_DEFAULT_BRANCH_PROTECTION":
		return trusts
	}
	switch {
	case hasPrefix(name, "GIT_CONFIG"):
		return loads
	case hasPrefix(name, "GIT_TRACE", "GIT_TR2", "GIT_REDIRECT_"):
		return writes
	default:
		return ""
	}
}

func languages(name string) string {
	switch name {
	case "NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE", "NODE_EXTRA_CA_CERTS", "NODE_ICU_DATA", "BUN_OPTIONS", "ELECTRON_RUN_AS_NODE",
		"YARN_RC_FILENAME", "YARN_PLUGINS", "YARN_YARN_PATH", "YARN_NPM_REGISTRY_SERVER", "COREPACK_NPM_REGISTRY",
		"PERLLIB", "PERLDB_OPTS", "PERL_MM_OPT", "PERL_MB_OPT", "RUBYOPT", "RUBYLIB", "RUBYSHELL", "RUBYPATH", "RUBYLIB_PREFIX", "GEM_HOME", "GEM_PATH", "GEM_SPEC_CACHE", "BUNDLE_GEMFILE", "BUNDLE_PATH", "BUNDLE_CONFIG",
		"PHPRC", "PHP_INI_SCAN_DIR", "CLASSPATH", "JAVA_HOME", "JDK_HOME", "JRE_HOME", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_OPTS", "MAVEN_OPTS", "MAVEN_ARGS", "GRADLE_OPTS", "GRADLE_USER_HOME", "ANT_OPTS", "ANT_ARGS", "SBT_OPTS",
		"R_HOME", "R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER", "R_LIBS", "R_LIBS_USER", "JULIA_LOAD_PATH", "JULIA_DEPOT_PATH", "JULIA_PROJECT", "JULIA_BINDIR",
		"ERL_LIBS", "ERL_FLAGS", "ERL_AFLAGS", "ERL_ZFLAGS", "ELIXIR_ERL_OPTIONS", "DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS", "DOTNET_ROOT", "TCLLIBPATH", "TCL_LIBRARY",
		"GUILE_LOAD_PATH", "GUILE_LOAD_COMPILED_PATH", "CAML_LD_LIBRARY_PATH", "AWKPATH", "AWKLIBPATH", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "POETRY_HOME":
		return loads
	case "NODE_TLS_REJECT_UNAUTHORIZED":
		return trusts
	case "NODE_V8_COVERAGE", "NODE_REDIRECT_WARNINGS", "NODE_REPL_HISTORY", "PERLIO_DEBUG":
		return writes
	}
	lower := strings.ToLower(name)
	switch {
	case hasPrefix(name, "PYTHON") && !harmlessPython(name), hasPrefix(name, "PIP_") && !harmlessPip(name),
		hasPrefix(lower, "npm_config_") && !harmlessNpm(strings.ReplaceAll(lower, "-", "_")):
		return loads
	case hasPrefix(name, "PERL5", "LUA_INIT", "LUA_PATH", "LUA_CPATH", "UV_INDEX", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX", "UV_PYTHON", "UV_CONFIG", "UV_FIND_LINKS", "TS_NODE_", "CORECLR_", "COMPlus_", "CORECLR"):
		return loads
	default:
		return ""
	}
}

// harmlessPython lists what changes only how Python says and counts things.
func harmlessPython(name string) bool {
	switch strings.TrimPrefix(name, "PYTHON") {
	case "UNBUFFERED", "DONTWRITEBYTECODE", "IOENCODING", "UTF8", "HASHSEED", "NOUSERSITE", "OPTIMIZE", "FAULTHANDLER", "TRACEMALLOC", "VERBOSE",
		"DEBUG", "DEVMODE", "MALLOC", "MALLOCSTATS", "ASYNCIODEBUG", "SAFEPATH", "NODEBUGRANGES", "COERCECLOCALE", "INTMAXSTRDIGITS", "PROFILEIMPORTTIME", "_COLORS", "_VERSION", "":
		return true
	default:
		return false
	}
}

func harmlessPip(name string) bool {
	switch strings.TrimPrefix(name, "PIP_") {
	case "NO_CACHE_DIR", "DISABLE_PIP_VERSION_CHECK", "NO_INPUT", "QUIET", "VERBOSE", "PROGRESS_BAR", "DEFAULT_TIMEOUT", "TIMEOUT", "RETRIES", "NO_COLOR", "ROOT_USER_ACTION", "REQUIRE_VIRTUALENV", "NO_WARN_SCRIPT_LOCATION", "ONLY_BINARY", "REQUIRE_HASHES":
		return true
	default:
		return false
	}
}

func harmlessNpm(lower string) bool {
	switch strings.TrimPrefix(lower, "npm_config_") {
	case "loglevel", "fund", "audit", "progress", "color", "update_notifier", "yes", "ignore_scripts", "engine_strict", "legacy_peer_deps", "save_exact", "prefer_offline", "offline", "package_lock", "unicode", "maxsockets", "fetch_retries", "fetch_timeout":
		return true
	default:
		return false
	}
}

func building(name string) string {
	switch name {
	case "CC", "CXX", "CPP", "LD", "AR", "AS", "NM", "RANLIB", "STRIP", "OBJCOPY", "OBJDUMP", "FC", "GCCGO", "PKG_CONFIG", "MAKE", "RUSTC", "RUSTDOC", "YACC", "LEX", "ACLOCAL", "ACLOCAL_PATH", "AUTOCONF", "AUTOHEADER", "AUTOMAKE", "AUTOM4TE", "LIBTOOL", "M4", "CONFIG_SITE",
		"RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CCACHE_PREFIX", "CCACHE_PREFIX_CPP", "CCACHE_COMPILER", "CCACHE_PATH", "DISTCC_HOSTS", "GOCACHEPROG", "GOAUTH", "GOTOOLCHAIN", "GOVCS":
		return runs
	case "MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "RUSTFLAGS", "RUSTDOCFLAGS", "GOFLAGS", "GOENV", "GOROOT", "GOTOOLDIR", "GOWORK", "GOMODCACHE_RO",
		"CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LIBS", "CGO_CFLAGS", "CGO_CXXFLAGS", "CGO_CPPFLAGS", "CGO_LDFLAGS", "CGO_FFLAGS", "CGO_CFLAGS_ALLOW", "CGO_LDFLAGS_ALLOW", "CGO_CXXFLAGS_ALLOW",
		"GCC_EXEC_PREFIX", "COMPILER_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR",
		"CCACHE_CONFIGPATH", "CMAKE_TOOLCHAIN_FILE", "CMAKE_MODULE_PATH", "CMAKE_PREFIX_PATH", "CMAKE_PROJECT_INCLUDE", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUSTUP_DIST_SERVER", "RUSTUP_UPDATE_ROOT":
		return loads
	case "GOSUMDB", "GOINSECURE", "GONOSUMDB", "GONOSUMCHECK", "GOPROXY", "GOFLAGS_INSECURE":
		return trusts
	}
	switch {
	case hasPrefix(name, "CMAKE_") && hasSuffix(name, "_COMPILER", "_LAUNCHER", "_LINKER"):
		return runs
	case hasPrefix(name, "CARGO") && name != "CARGO_TARGET_DIR" &&
		!hasPrefix(name, "CARGO_TERM_", "CARGO_INCREMENTAL", "CARGO_NET_OFFLINE", "CARGO_NET_RETRY", "CARGO_BUILD_JOBS", "CARGO_PROFILE_", "CARGO_PKG_"):
		return loads
	default:
		return ""
	}
}

func tools(name string) string {
	switch name {
	case "TAR_OPTIONS", "ZIPOPT", "ZIP", "UNZIP", "UNZIPOPT", "RIPGREP_CONFIG_PATH", "GREP_OPTIONS", "ACKRC", "ACK_OPTIONS", "BAT_CONFIG_PATH", "BAT_OPTS", "WGETRC", "SYSTEM_WGETRC", "CURL_HOME", "NETRC",
		"XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_RUNTIME_DIR",
		"PSQLRC", "PGSERVICEFILE", "PGSYSCONFDIR", "PGPASSFILE", "MYSQL_HOME", "MYSQL_TEST_LOGIN_FILE",
		"DOCKER_CONFIG", "DOCKER_CLI_PLUGIN_EXTRA_DIRS", "CONTAINERS_CONF", "CONTAINERS_CONF_OVERRIDE", "CONTAINERS_STORAGE_CONF", "REGISTRY_AUTH_FILE",
		"KUBECONFIG", "KREW_ROOT", "HELM_PLUGINS", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HELM_BIN", "HELM_REGISTRY_CONFIG", "HELM_REPOSITORY_CONFIG",
		"TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG", "TF_DATA_DIR", "TF_PLUGIN_CACHE_DIR",
		"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_DATA_PATH", "AWS_CLI_FILE_ENCODING", "CLOUDSDK_CONFIG", "CLOUDSDK_PYTHON", "CLOUDSDK_PYTHON_ARGS", "CLOUDSDK_ROOT_DIR", "AZURE_CONFIG_DIR", "AZURE_EXTENSION_DIR",
		"GOOGLE_APPLICATION_CREDENTIALS", "GH_CONFIG_DIR", "GH_PATH", "GLAB_CONFIG_DIR", "ANSIBLE_CONFIG", "ANSIBLE_LIBRARY", "ANSIBLE_ROLES_PATH", "ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_INVENTORY":
		return loads
	case "TF_LOG_PATH":
		return writes
	}
	switch {
	case hasPrefix(name, "TF_CLI_ARGS"), hasPrefix(name, "ANSIBLE_") && strings.Contains(name, "PLUGIN"):
		return loads
	default:
		return ""
	}
}

func network(name string) string {
	switch name {
	case "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "CONTAINER_HOST", "BUILDKIT_HOST", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE",
		"AWS_ENDPOINT_URL", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS", "KRB5_CONFIG", "KRB5CCNAME", "SSLKEYLOGFILE":
		return trusts
	}
	switch strings.ToLower(name) {
	case "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "rsync_proxy", "socks_proxy", "cgi_http_proxy":
		return trusts
	default:
		return ""
	}
}
