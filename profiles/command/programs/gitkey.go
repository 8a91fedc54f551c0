// This file owns which keys of git's configuration can make git start a
// program, load code or reach elsewhere than the words of the command say. Package
// launch asks it, and the per-binary rule for safe configuration.

package programs

import "strings"

// gitKeyKind is what a setting can do. The zero Kind is that of a key nobody knows.
type gitKeyKind uint8

// The kinds.
const (
	gitKeyUnknown gitKeyKind = iota // not known: not to be trusted
	gitKeyStarts                    // git starts a program by it, or reads more configuration
	gitKeyAlias                     // git reads its value as words of git
	GitKeySafe                      // changes what git shows or does itself
)

// GitKey tells what a setting can do. A value that is not known is to be given with
// known false: then a key whose harm depends on its value is of the worse kind.
func GitKey(key, value string, known bool) gitKeyKind {
	section, name, _ := cut(key)
	if section == "" || name == "" {
		return gitKeyUnknown
	}
	if section == "alias" {
		if !known || strings.HasPrefix(strings.TrimLeft(value, " \t\n"), "!") {
			return gitKeyStarts
		}
		return gitKeyAlias
	}
	if known && harmless(section, name, value) {
		return GitKeySafe
	}
	if starts(section, name, value, known) {
		return gitKeyStarts
	}
	if safe(section, name) || startsNot(section, name) {
		return GitKeySafe
	}
	return gitKeyUnknown
}

// cut takes a key apart: section and name in small letters, the part between them
// as it is.
func cut(key string) (section, name, between string) {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first < 0 {
		return "", "", ""
	}
	if first < last {
		between = key[first+1 : last]
	}
	return strings.ToLower(key[:first]), strings.ToLower(key[last+1:]), between
}

// harmless are values that switch a program off, as git documents them.
func harmless(section, name, value string) bool {
	v := strings.ToLower(strings.TrimSpace(value))
	off := v == "false" || v == "no" || v == "off" || v == "0"
	switch section + "." + name {
	case "core.pager":
		return v == "cat" || v == ""
	case "core.editor", "sequence.editor":
		return v == ":"
	case "core.fsmonitor":
		return off || v == "" || v == "true"
	case "core.hookspath":
		return value == "/dev/null"
	case "credential.helper", "core.askpass", "core.sshcommand", "diff.external", "core.gitproxy", "http.proxy", "https.proxy", "core.attributesfile", "core.excludesfile", "core.alternaterefscommand", "interactive.difffilter", "init.templatedir", "commit.template":
		return v == ""
	}
	switch section {
	case "pager":
		return off || v == "true" || v == "cat"
	case "protocol":
		return name == "allow" && (v == "never" || v == "user") || name == "version"
	case "submodule":
		return name == "update" && (v == "checkout" || v == "rebase" || v == "merge" || v == "none")
	case "gpg":
		return name == "format"
	case "url":
		return name == "insteadof" || name == "pushinsteadof"
	}
	return false
}

// starts reports whether a setting makes git start something. What a url section
// rewrites to is in the key: see Rewrites.
func starts(section, name, value string, known bool) bool {
	switch name {
	case "command", "cmd", "textconv", "driver", "clean", "smudge", "process", "helper", "program", "defaultkeycommand", "editor", "pager", "askpass", "sshcommand",
		"hookspath", "fsmonitor", "gitproxy", "external", "uploadpack", "receivepack", "vcs", "packobjectshook", "alternaterefscommand", "sendmailcmd", "tocmd", "cccmd", "headercmd", "smtpserver",
		"browser", "path", "templatedir", "worktree", "difffilter", "aliasesfile", "smtpsslcertpath", "runcommand", "postcommand", "recentobjectshook", "configuration":
		return !(section == "submodule" && name == "path") && section != "user" && section != "safe"
	}
	switch section {
	case "include", "includeif", "pager", "filter", "browser", "man", "difftool", "mergetool", "guitool", "instaweb", "web", "hook", "lfs", "tar", "credential", "imap", "sendemail", "svn", "svn-remote", "gitcvs", "uploadarchive", "daemon", "remote-hg":
		return !startsNot(section, name)
	case "protocol":
		return name == "allow"
	case "submodule":
		return name == "update" && (!known || strings.HasPrefix(strings.TrimSpace(value), "!"))
	case "merge", "diff":
		return name == "tool" || name == "guitool"
	case "help":
		return name == "browser" || name == "format"
	}
	return false
}

// startsNot are the harmless names of sections that start programs otherwise.
func startsNot(section, name string) bool {
	switch section {
	case "credential":
		return name == "username" || name == "usehttppath" || name == "interactive" || name == "namespace"
	case "difftool", "mergetool":
		return name == "prompt" || name == "keepbackup" || name == "keeptemporaries" || name == "trustexitcode" || name == "hideresolved" || name == "writetotemp"
	case "filter":
		return name == "required"
	case "lfs":
		return name == "fetchinclude" || name == "fetchexclude" || name == "concurrenttransfers" || name == "locksverify" || name == "activitytimeout" || name == "skipdownloaderrors"
	case "sendemail":
		return name == "to" || name == "from" || name == "cc" || name == "confirm" || name == "suppresscc" || name == "thread" || name == "chainreplyto" || name == "annotate"
	case "tar":
		return name == "umask"
	}
	return false
}

// safe are the keys of git that are known to change only what it shows or does
// itself.
func safe(section, name string) bool {
	switch section {
	case "advice", "color", "column", "status", "push", "pull", "fetch", "branch", "rebase", "rerere", "gc", "pack", "index", "log", "format", "grep", "notes", "stash",
		"versionsort", "blame", "apply", "clean", "am", "checkout", "describe", "show-branch", "showbranch", "splitindex", "feature", "fsck", "mailinfo", "mailmap", "maintenance", "committemplate", "reset", "rev", "reftable", "repack",
		"tag", "user", "author", "committer", "receive", "transfer", "commit", "commitgraph", "safe", "sparse", "trailer", "worktree", "uploadpack", "lsrefs", "attr", "bitmapindex", "bundle", "completion", "gui", "i18n", "interactive", "merge", "diff", "submodule", "clone", "checkoutindex", "trace2", "attribute":
		return safeName(section, name)
	case "init":
		return name == "defaultbranch" || name == "defaultobjectformat" || name == "defaultrefformat"
	case "core":
		return safeCore(name)
	case "http", "https":
		return name != "proxy" && name != "sslengine" && name != "cookiefile" && name != "sslcert" && name != "sslkey" && name != "savecookies" && name != "curloptresolve"
	case "remote":
		return name == "url" || name == "pushurl" || name == "fetch" || name == "push" || name == "prune" || name == "prunetags" || name == "tagopt" || name == "mirror" || name == "skipdefaultupdate" || name == "skipfetchall" || name == "pushdefault" || name == "promisor" || name == "partialclonefilter" || name == "followremotehead"
	case "gpg":
		return name == "format" || name == "mintrustlevel" || name == "allowedsignersfile" || name == "revocationfile"
	case "extensions":
		return name == "partialclone" || name == "worktreeconfig" || name == "objectformat" || name == "preciousobjects"
	case "ssh":
		return name == "variant"
	case "help":
		return name == "autocorrect"
	}
	return false
}

func safeName(section, name string) bool {
	switch section {
	case "trace2":
		return false // it writes files
	case "trailer":
		return name == "separators" || name == "where" || name == "ifexists" || name == "ifmissing" || name == "key"
	case "gui":
		return false
	case "branch":
		return name != "vcs"
	}
	return true
}

func safeCore(name string) bool {
	switch name {
	case "quotepath", "autocrlf", "eol", "safecrlf", "filemode", "ignorecase", "precomposeunicode", "longpaths", "symlinks", "bare", "logallrefupdates", "repositoryformatversion",
		"sharedrepository", "compression", "loosecompression", "packedgitwindowsize", "packedgitlimit", "deltabasecachelimit", "bigfilethreshold", "whitespace", "abbrev", "commentchar", "commentstring",
		"preloadindex", "untrackedcache", "fscache", "multipackindex", "commitgraph", "sparsecheckout", "sparsecheckoutcone", "protecthfs", "protectntfs", "checkstat", "trustctime", "splitindex",
		"fsyncobjectfiles", "fsync", "fsyncmethod", "createobject", "notesref", "warnambiguousrefs", "filesreflocktimeout", "packedrefstimeout", "hidedotfiles", "restrictinheritedhandles", "ignorestat",
		"usereplacerefs", "checkroundtripencoding", "disambiguate", "maxtreedepth", "attributesfile", "excludesfile", "lockfilepid", "optionallocks":
		return true
	default:
		return false
	}
}

// rewritesGitKey gives what a url section rewrites addresses to, "" for other keys.
func rewritesGitKey(key string) string {
	section, name, between := cut(key)
	if section == "url" && (name == "insteadof" || name == "pushinsteadof") {
		return between
	}
	return ""
}
