package command_test

import (
	"strings"
	"testing"

	"github.com/ringd/ringd/profiles/argv"
	"github.com/ringd/ringd/profiles/command"
)

func TestRefused(t *testing.T) {
	refused := `PATH=x
PATH=
HOME=/x
SHELL=x
ENV=./x.sh
ENV=~/x
BASH_ENV=x
BASH_FUNC_git%%=x
SHELLOPTS=x
PROMPT_COMMAND=x
PS4=$(x)
PS4=` + "`x`" + `
CDPATH=/
LD_PRELOAD=x
LD_AUDIT=x
LD_LIBRARY_PATH=.
DYLD_INSERT_LIBRARIES=x
GCONV_PATH=.
GLIBC_TUNABLES=x
LC_ALL=/tmp/x
LANG=../x
TERM=/x
TERMINFO=x
PAGER=less
PAGER=cat x
MANPAGER=x
GIT_PAGER=sh -c id
PSQL_PAGER=x
EDITOR=vi
VISUAL=x
GIT_EDITOR=true
GIT_SEQUENCE_EDITOR=sed -i x
KUBE_EDITOR=x
BROWSER=x
GH_BROWSER=x
LESSOPEN=|x
LESS=-oX
LESS=+!id
GIT_SSH=x
SSH_SK_HELPER=x
SSH_SK_PROVIDER=./x.so
CVSEDITOR=x
COLLECT_GCC=x
CONDA_EXE=x
AS=./as
ACLOCAL_PATH=.
GROFF_TMAC_PATH=.
MONO_PATH=.
LIBPATH=.
TMUX_TMPDIR=.
GIT_SSH_COMMAND=ssh
GIT_EXTERNAL_DIFF=x
GIT_ASKPASS=x
SSH_ASKPASS=x
SUDO_ASKPASS=x
GIT_PROXY_COMMAND=x
GIT_EXEC_PATH=.
GIT_TEMPLATE_DIR=x
GIT_CONFIG=x
GIT_CONFIG_COUNT=1
GIT_CONFIG_KEY_0=core.pager
GIT_CONFIG_PARAMETERS=x
GIT_CONFIG_GLOBAL=x
GIT_DIR=x
GIT_WORK_TREE=x
GIT_ALLOW_PROTOCOL=ext
GIT_TRACE=/etc/x
GIT_TRACE_PACKET=/x
GIT_SSL_NO_VERIFY=1
PYTHONPATH=.
PYTHONSTARTUP=x
PYTHONHOME=x
PYTHONBREAKPOINT=os.system
PYTHONWARNINGS=x.y
PERL5LIB=.
PERL5OPT=-Mx
RUBYOPT=-rx
RUBYLIB=.
NODE_OPTIONS=--require x
NODE_OPTIONS=--max-old-space-size=1 -r x
NODE_PATH=.
npm_config_script_shell=x
NPM_CONFIG_REGISTRY=x
npm_config_registry=x
PIP_INDEX_URL=x
PIP_EXTRA_INDEX_URL=x
PIP_CONFIG_FILE=x
CARGO_HOME=.
CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=x
CARGO_BUILD_RUSTC_WRAPPER=x
RUSTC_WRAPPER=x
RUSTFLAGS=-C linker=x
GOFLAGS=-toolexec=x
GOFLAGS=-mod=mod -exec=x
GOENV=x
GOPROXY=http://x
GOTOOLCHAIN=x
CC=x
CXX=x
CFLAGS=-fplugin=x
LDFLAGS=-Wl,-dynamic-linker,x
MAKEFLAGS=--eval=x
MAKEFLAGS=-j4 SHELL=x
MAKEFILES=x
JAVA_TOOL_OPTIONS=-javaagent:x
CLASSPATH=.
LUA_INIT=x
LUA_PATH_5_4=x
PHPRC=.
TAR_OPTIONS=x
TAPE=x
RSYNC_RSH=x
CVS_RSH=x
SVN_SSH=x
ZIPOPT=x
RIPGREP_CONFIG_PATH=x
GREP_OPTIONS=x
AWKPATH=.
OPENSSL_CONF=x
WGETRC=x
CURL_HOME=.
XDG_CONFIG_HOME=.
DOCKER_HOST=x
KUBECONFIG=x
AWS_CONFIG_FILE=x
TF_CLI_ARGS_plan=x
http_proxy=http://x
HTTPS_PROXY=x
ALL_PROXY=x
DBUS_SESSION_BUS_ADDRESS=unixexec:x
GNUPGHOME=.
PYTEST_ADDOPTS=-p x
DOTNET_STARTUP_HOOKS=x
SSL_CERT_FILE=x
A B=x
=x`
	allowed := `FOO=bar
foo=
LC_ALL=C
LC_ALL=de_DE.UTF-8
LANG=C.UTF-8
TZ=UTC
CI=1
NO_COLOR=1
DEBUG=*
GIT_TERMINAL_PROMPT=0
GIT_AUTHOR_NAME=a b
GIT_AUTHOR_DATE=x
GIT_COMMITTER_EMAIL=x
GIT_CONFIG_NOSYSTEM=1
GIT_CONFIG_GLOBAL=/dev/null
GIT_PAGER=cat
GIT_PAGER=
PAGER=cat
GIT_EDITOR=:
EDITOR=:
GIT_TRACE=1
GIT_OPTIONAL_LOCKS=0
GIT_MERGE_AUTOEDIT=no
GIT_LFS_SKIP_SMUDGE=1
GIT_COMMIT=abc
GIT_BRANCH=main
GIT_ASKPASS=
PORT=80
NODE_ENV=test
NODE_OPTIONS=--max-old-space-size=4096 --no-warnings
GOOS=linux
GOARCH=arm64
CGO_ENABLED=0
GOFLAGS=-mod=mod -count=1
GOPROXY=off
GOCACHE=/tmp/x
GOTOOLCHAIN=local
GOWORK=off
TERM=dumb
TERM=xterm-256color
COLUMNS=80
USER=x
ENV=production
PS1=x
PS4=+ ${LINENO}:
IFS=,
OPTIND=1
LESS=-FRX
MAKEFLAGS=-j4
MAKEFLAGS=--no-print-directory -s
CFLAGS=-O2 -g -Wall
LDFLAGS=-s
PYTHONUNBUFFERED=1
PYTHONDONTWRITEBYTECODE=1
PYTHONWARNINGS=ignore
PIP_NO_CACHE_DIR=1
npm_config_loglevel=error
CARGO_TERM_COLOR=always
CARGO_TARGET_DIR=target
RUST_BACKTRACE=1
RUST_LOG=debug
RUSTFLAGS=-D warnings
JAVA_OPTS=-Xmx1g
http_proxy=
no_proxy=localhost
TMPDIR=/workspace/tmp
POSIXLY_CORRECT=1
DEBIAN_FRONTEND=noninteractive
SOURCE_DATE_EPOCH=0
path=x
Path=x
MYPATH=x
LDFLAG=x
VERSION=1
i=0
_x=1
AWS_REGION=eu
TF_VAR_x=1
DOCKER_BUILDKIT=1
KUBE_NAMESPACE=x`
	for want, lines := range map[bool]string{true: refused, false: allowed} {
		for line := range strings.Lines(lines) {
			name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), "=")
			reason, got, maybe := command.VariableRefused(name, argv.Known(value))
			if got != want || maybe || got != (reason != "") {
				t.Errorf("%s=%s: refused %v, maybe %v, %q", name, value, got, maybe, reason)
			}
		}
	}
}

// TestUnknownValue: a value that is not known settles nothing where it counts.
func TestUnknownValue(t *testing.T) {
	for name, want := range map[string][2]bool{"PATH": {true, false}, "LD_PRELOAD": {true, false},
		"PAGER": {false, true}, "GIT_TRACE": {false, true}, "NODE_OPTIONS": {false, true},
		"LC_ALL": {false, true}, "FOO": {false, false}, "GIT_COMMIT": {false, false}} {
		if _, refused, maybe := command.VariableRefused(name, argv.Word{Open: true}); refused != want[0] ||
			maybe != want[1] {
			t.Errorf("%s: refused %v, maybe %v", name, refused, maybe)
		}
	}
}

// TestInstead: what a refusal proposes passes itself.
func TestInstead(t *testing.T) {
	for _, name := range []string{"PAGER", "GIT_PAGER", "GIT_EDITOR", "EDITOR", "GIT_CONFIG_GLOBAL", "GIT_TRACE",
		"PATH", "FOO", "BROWSER"} {
		for _, one := range command.VariableInstead(name) {
			n, v, _ := strings.Cut(one, "=")
			if _, refused, maybe := command.VariableRefused(n, argv.Known(v)); refused || maybe || n != name {
				t.Errorf("%s: %q is refused", name, one)
			}
		}
	}
	if got := command.VariableInstead("GIT_PAGER"); len(got) != 1 || got[0] != "GIT_PAGER=cat" {
		t.Errorf("got %v", got)
	}
}

func FuzzRefused(f *testing.F) {
	f.Add("GIT_PAGER", "cat", "x")
	f.Add("NODE_OPTIONS", "--no-warnings", " --require x")
	f.Fuzz(func(t *testing.T, name, value, more string) {
		_, refused, maybe := command.VariableRefused(name, argv.Word{Text: value, Open: true})
		if _, final, open := command.VariableRefused(name, argv.Known(value+more)); open || !maybe && final != refused {
			t.Errorf("%q=%q: open %v %v, then %v %v", name, value, refused, maybe, final, open)
		}
	})
}
