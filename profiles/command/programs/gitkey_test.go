package programs

import (
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		want     gitKeyKind
		settings string // KEY=VALUE, apart by line ends
	}{
		{gitKeyStarts, `core.pager=less
core.editor=true
core.editor=vim
core.fsmonitor=.git/x
core.hooksPath=.h
core.hookspath=/dev/null/x
core.sshCommand=ssh -i k
core.askPass=x
core.gitProxy=x
core.alternateRefsCommand=x
core.worktree=/
diff.external=x
diff.gpg.textconv=gpg
diff.x.command=x
diff.tool=vimdiff
filter.lfs.clean=git-lfs clean
filter.x.smudge=x
filter.x.process=x
merge.x.driver=x
merge.tool=meld
mergetool.meld.path=/tmp/x
mergetool.x.cmd=x
difftool.x.cmd=x
gpg.program=x
gpg.ssh.program=x
gpg.ssh.defaultKeyCommand=x
sequence.editor=vim
credential.helper=store
credential.helper=!f
credential.https://x.helper=!f
alias.x=!id
alias.x= !id
pager.log=less
pager.diff=sh -c id
browser.x.cmd=x
web.browser=x
man.viewer=x
man.x.cmd=x
help.browser=x
instaweb.browser=x
include.path=x
includeIf.gitdir:x.path=x
protocol.allow=always
protocol.ext.allow=always
remote.x.uploadpack=x
remote.x.receivepack=x
remote.x.vcs=x
uploadpack.packObjectsHook=x
submodule.x.update=!id
sendemail.smtpServer=/x
sendemail.sendmailCmd=x
sendemail.toCmd=x
init.templateDir=x
interactive.diffFilter=x
tar.tar.gz.command=x
trailer.x.command=x
trailer.x.cmd=x
guitool.x.cmd=x
lfs.customtransfer.x.path=x
imap.tunnel=x
hook.x.command=x
svn-remote.x.url=x`},
		{GitKeySafe, `user.name=x
user.email=a@b
user.signingKey=x
color.ui=never
color.diff.meta=red
core.quotepath=off
core.autocrlf=input
core.pager=cat
core.pager=
core.editor=:
core.fsmonitor=false
core.fsmonitor=true
core.hooksPath=/dev/null
core.sshCommand=
core.ignorecase=true
core.longpaths=true
core.compression=0
credential.helper=
credential.username=x
init.defaultBranch=main
pull.rebase=true
pull.ff=only
push.default=current
push.autoSetupRemote=true
fetch.prune=true
rebase.autoStash=true
rebase.autoSquash=true
merge.conflictStyle=zdiff3
merge.ff=false
diff.algorithm=histogram
diff.renames=true
diff.colorMoved=zebra
diff.noprefix=true
advice.detachedHead=false
log.date=iso
log.showSignature=false
status.showUntrackedFiles=all
commit.gpgsign=false
tag.gpgSign=false
gpg.format=ssh
rerere.enabled=true
gc.auto=0
branch.main.remote=origin
branch.main.merge=refs/heads/main
branch.autoSetupMerge=always
remote.origin.url=https://x
remote.origin.fetch=+refs/heads/*:refs/remotes/origin/*
remote.pushDefault=origin
http.postBuffer=1
http.sslVerify=false
http.lowSpeedLimit=1
http.https://x.extraHeader=y
safe.directory=*
submodule.recurse=true
submodule.x.update=none
submodule.fetchJobs=4
protocol.version=2
protocol.file.allow=never
index.version=4
feature.manyFiles=true
column.ui=auto
format.pretty=oneline
grep.lineNumber=true
blame.date=short
url.https://github.com/.insteadOf=git@github.com:
pager.log=false
pager.branch=cat
help.autocorrect=0
i18n.commitEncoding=utf-8
transfer.fsckObjects=true
versionsort.suffix=-rc
worktree.guessRemote=true
stash.showPatch=true
clone.defaultRemoteName=x
apply.whitespace=fix
notes.displayRef=x
pack.threads=1
extensions.worktreeConfig=true
lfs.fetchExclude=x`},
		{gitKeyAlias, `alias.st=status
alias.lg=log --oneline`},
		{gitKeyUnknown, `unknown.key=x
x=y
core=x
core.unheardOf=x
=x
hub.protocol=x
flow.x=y
http.cookieFile=x
trace2.eventTarget=/x`},
	} {
		for setting := range strings.SplitSeq(c.settings, "\n") {
			// The name of a section may have = in a URL, never here.
			key, value, _ := strings.Cut(setting, "=")
			for _, k := range []string{key, upper(key)} {
				if got := GitKey(k, value, true); got != c.want {
					t.Errorf("%s=%s: %v, wanted %v", k, value, got, c.want)
				}
			}
		}
	}
}

// upper writes section and name in capitals: git does not tell them apart.
func upper(key string) string {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first < 0 {
		return strings.ToUpper(key)
	}
	return strings.ToUpper(key[:first]) + key[first:last] + strings.ToUpper(key[last:])
}

// A value that nobody knows is never better than any that it can have.
func FuzzOf(f *testing.F) {
	f.Add("core.pager", "cat")
	f.Add("alias.x", "status")
	f.Add("submodule.x.update", "none")
	f.Add("url.ext::x.insteadOf", "y")
	f.Fuzz(func(t *testing.T, key, value string) {
		with, without := GitKey(key, value, true), GitKey(key, "", false)
		if without == GitKeySafe && with != GitKeySafe {
			t.Errorf("%s is safe with any value, and %d with %q", key, with, value)
		}
	})
}
