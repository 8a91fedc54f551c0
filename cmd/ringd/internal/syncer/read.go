package syncer

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/ringd/ringd/schema"
)

// attempts is the maximum number of passes of Read.
const attempts = 5

// Read reads a folder like the syncer. The digest is the one that the daemon would compute. If an error wraps
// fs.ErrNotExist and none of the errors of this package, the folder does not exist.
//
// Two consecutive passes must agree in every name, link, inode, time and byte. So a push that replaces
// several files by the swap of one link is read whole, before or after the swap. A file that is open for
// writing is not finished. This is known if the system grants a read lease (on Linux to the file's owner and
// with CAP_LEASE, on local file systems). Otherwise the daemon treats a file as finished if it has been
// unchanged for Config.Settle. A file whose writer died half way cannot be told from a finished one.
func Read(dir string, l Limits) (Push, error) {
	p, err := read(dir, l)
	return p.Push, err
}

// stampFolder returns a text that changes with the folder, except for the content of files. It opens each file,
// because a network file system then asks its server for the current state.
func stampFolder(dir string, l Limits) string {
	l = l.withDefaults()
	l.names = true
	p, err := onePass(dir, l)
	if p == nil {
		return "! " + err.Error()
	}
	if err != nil {
		return p.stamp + err.Error()
	}
	return p.stamp
}

// reading is a push and the folders it was read from.
type reading struct {
	Push
	folders []folder // that were read, or that links may lead through
}

// folder is a folder to watch.
type folder struct {
	path string // relative to the sync directory
	id   string // inode
}

func read(dir string, l Limits) (reading, error) {
	l = l.withDefaults()
	var last *pass
	for range attempts {
		p, err := onePass(dir, l)
		switch {
		case err != nil && p == nil:
			return reading{}, err // of the folder itself
		case err == nil && last != nil && last.err == nil && last.equal(p):
			return p.reading()
		case err != nil && last != nil && last.err != nil && last.stamp == p.stamp && last.err.Error() == err.Error():
			return reading{folders: p.folders}, err // the same error twice
		}
		p.err = err
		last = p
	}
	if last.err != nil {
		return reading{folders: last.folders}, last.err
	}
	return reading{folders: last.folders}, fmt.Errorf("read %s: %w", dir, ErrTorn)
}

// pass is the result of one pass over the folder.
type pass struct {
	root    *os.Root
	limits  Limits
	sources []schema.Source
	folders []folder
	stamps  hash.Hash // of every name with its inode, times and size
	stamp   string
	entries int
	total   int64
	foreign string // first name that Limits.Only does not allow
	err     error
}

// onePass reads the folder once. A nil pass means that the folder could not be opened.
func onePass(dir string, l Limits) (*pass, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, markShort(err)
	}
	defer root.Close()
	p := &pass{root: root, limits: l, stamps: sha256.New()}
	st, err := root.Stat(".")
	if err != nil {
		return nil, err
	}
	p.folders = append(p.folders, folder{".", inode(st)})
	if l.Only != "" {
		err = p.readOnly()
	} else {
		err = p.readFolder(".", 0)
	}
	p.stamp = string(p.stamps.Sum(nil))
	return p, err
}

// equal reports whether two passes are equal.
func (p *pass) equal(q *pass) bool {
	return p.stamp == q.stamp && slices.EqualFunc(p.sources, q.sources, func(a, b schema.Source) bool {
		return a.Name == b.Name && string(a.Data) == string(b.Data)
	})
}

func (p *pass) reading() (reading, error) {
	policies := slices.ContainsFunc(p.sources, func(s schema.Source) bool { return IsPolicy(s.Name) })
	beside := ""
	switch {
	case p.foreign != "" && policies:
		beside = fmt.Sprintf("%s is next to %s and is not read: remove it from the folder", truncateName(p.foreign),
			p.limits.Only)
	case p.foreign != "":
		return reading{folders: p.folders}, fmt.Errorf("%s: %w, %s", truncateName(p.foreign), ErrAnother, p.limits.Only)
	case !policies:
		return reading{folders: p.folders}, fmt.Errorf("read the folder: %w", ErrEmpty)
	}
	slices.SortFunc(p.sources, func(a, b schema.Source) int { return strings.Compare(a.Name, b.Name) })
	if first, second := findCopy(p.sources); second != "" {
		return reading{folders: p.folders}, fmt.Errorf("%s (next to %s): %w", truncateName(second), truncateName(first),
			ErrSecond)
	}
	return reading{Push{p.sources, digestOf(p.sources), beside}, p.folders}, nil
}

// readFolder reads everything in a folder and below.
func (p *pass) readFolder(dir string, depth int) error {
	if depth > p.limits.Depth {
		return fmt.Errorf("read %s: %w (%d folders)", dir, ErrTooDeep, p.limits.Depth)
	}
	names, err := p.listNames(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := p.readEntry(path.Join(dir, name), depth); err != nil {
			return err
		}
	}
	return nil
}

// readOnly reads the one file of Limits.Only. No other files, however many or busy, can keep it from being read.
func (p *pass) readOnly() error {
	name := p.limits.Only
	if err := p.findOther(); err != nil {
		return err
	}
	st, err := p.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fileError(name, err)
	}
	if to, err := p.root.Readlink(name); err == nil && path.Dir(path.Clean(to)) != "." {
		through := path.Dir(path.Clean(to)) // a change there changes the file
		if in, err := p.root.Stat(through); err == nil && in.IsDir() {
			p.folders = append(p.folders, folder{through, inode(in)})
		}
	}
	return p.handle(name, st, 0)
}

// maxOthers limits the names that are read to find another file.
const maxOthers = 256

// findOther finds one visible name that must not be beside the one file.
func (p *pass) findOther() error {
	if p.limits.Others || p.limits.names {
		return nil
	}
	f, err := p.root.OpenFile(".", os.O_RDONLY|onlyFolders|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fileError(".", err)
	}
	defer f.Close()
	names, err := f.Readdirnames(maxOthers)
	if err != nil && !errors.Is(err, io.EOF) {
		return fileError(".", err)
	}
	slices.Sort(names)
	for _, name := range names {
		if name != p.limits.Only && name != p.limits.Beside && !strings.HasPrefix(name, ".") {
			p.foreign = name
			return nil
		}
	}
	return nil
}

// listNames returns the names in a folder, sorted, within the limit of entries.
func (p *pass) listNames(dir string) ([]string, error) {
	f, err := p.root.OpenFile(dir, os.O_RDONLY|onlyFolders|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fileError(dir, err)
	}
	defer f.Close()
	var names []string
	for {
		some, err := f.Readdirnames(256)
		names = append(names, some...)
		p.entries += len(some)
		if p.entries > p.limits.Entries {
			return nil, fmt.Errorf("read %s: %w (%d names)", dir, ErrTooMany, p.limits.Entries)
		}
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return names, nil
		}
		if err != nil {
			return nil, fileError(dir, err)
		}
	}
}

// readEntry handles one name of a folder. Every name counts in the comparison of passes. Hidden names count for
// nothing else.
func (p *pass) readEntry(name string, depth int) error {
	st, err := p.root.Lstat(name)
	if err != nil {
		return fileError(name, err)
	}
	return p.handle(name, st, depth)
}

// handle handles a name. st is the result of Lstat.
func (p *pass) handle(name string, st fs.FileInfo, depth int) (err error) {
	hidden, only := strings.HasPrefix(path.Base(name), "."), p.limits.Only
	fmt.Fprintf(p.stamps, "%q %s\n", name, stampOf(st))
	if st.Mode()&fs.ModeSymlink != 0 && !hidden {
		if st, err = p.root.Stat(name); err != nil {
			return linkError(name, err)
		}
		fmt.Fprintf(p.stamps, "-> %s\n", stampOf(st))
	}
	switch {
	case st.IsDir() && name == only:
		return fmt.Errorf("read %s: %w", name, ErrNotFile)
	case st.IsDir():
		p.folders = append(p.folders, folder{name, inode(st)})
		if hidden {
			return nil
		}
		return p.readFolder(name, depth+1)
	case hidden || !Wanted(name) && !(p.limits.Tests && IsTest(name)):
		return nil
	case !st.Mode().IsRegular(): // opening it could have an effect
		return fmt.Errorf("read %s: %w", name, ErrNotFile)
	default:
		return p.readFile(name)
	}
}

// readFile reads one file. It does not block on a pipe without a writer.
func (p *pass) readFile(name string) error {
	if len(p.sources) >= p.limits.Files {
		return fmt.Errorf("read %s: %w (%d files)", name, ErrTooMany, p.limits.Files)
	}
	f, err := p.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return fileError(name, err)
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return fileError(name, err)
	}
	if !before.Mode().IsRegular() {
		return fmt.Errorf("read %s: %w", name, ErrNotFile)
	}
	if p.limits.names {
		fmt.Fprintf(p.stamps, "= %s\n", stampOf(before))
		return nil
	}
	if before.Size() > p.limits.FileBytes {
		return fmt.Errorf("read %s: %w (%d bytes, a file may have %d)", name, ErrTooLarge, before.Size(),
			p.limits.FileBytes)
	}
	data, err := io.ReadAll(io.LimitReader(f, p.limits.FileBytes+1))
	if err != nil {
		return fileError(name, err)
	}
	after, err := f.Stat()
	if err != nil {
		return fileError(name, err)
	}
	if int64(len(data)) != before.Size() || stampOf(before) != stampOf(after) {
		return fmt.Errorf("read %s: %w", name, ErrTorn)
	}
	switch writing, known := beingWritten(f); {
	case writing:
		return fmt.Errorf("read %s: %w", name, ErrWriting)
	case !known && p.limits.fresh != nil && p.limits.fresh(name, stampOf(after), changed(after)):
		return fmt.Errorf("read %s: %w", name, ErrFresh)
	}
	if p.total += int64(len(data)); p.total > p.limits.TotalBytes {
		return fmt.Errorf("read %s: %w (a push may have %d bytes)", name, ErrTooLarge, p.limits.TotalBytes)
	}
	fmt.Fprintf(p.stamps, "= %s\n", stampOf(after))
	p.sources = append(p.sources, schema.Source{Name: name, Data: data})
	return nil
}

// truncateName truncates an untrusted name.
func truncateName(name string) string {
	const most = 100
	if r := []rune(name); len(r) > most {
		name = string(r[:most]) + "…"
	}
	return strings.Trim(fmt.Sprintf("%q", name), `"`)
}

// fileError names the file that could not be read. If a listed name is missing, the folder is being changed.
func fileError(name string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w: it is gone", name, ErrTorn)
	}
	return fmt.Errorf("read %s: %w", name, markShort(err))
}

// markShort marks a fault of the host: it is unknown whether the file exists.
func markShort(err error) error {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN, syscall.EIO} {
		if errors.Is(err, e) {
			return fmt.Errorf("%w: %w", errShort, err)
		}
	}
	return err
}

// linkError returns why a link cannot be followed.
func linkError(name string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("read %s: %w: %w", name, ErrLink, err)
}

// Wanted reports whether a visible file is part of a push: a policy, any file below modules, or a guardrail
// below guardrails. Tests are not.
func Wanted(name string) bool {
	return strings.HasPrefix(name, "modules/") || IsPolicy(name) ||
		strings.HasPrefix(name, "guardrails/") && strings.HasSuffix(name, ".rego") &&
			!strings.HasSuffix(name, "_test.rego")
}

// findCopy finds two files of which one is a copy of the other by its name: left by a sync tool or a person, or
// the same name in another case.
func findCopy(sources []schema.Source) (first, second string) {
	seen := map[string]string{}
	for _, s := range sources {
		if !IsPolicy(s.Name) {
			continue
		}
		folded := strings.ToLower(s.Name)
		if before, ok := seen[folded]; ok {
			return before, s.Name
		}
		seen[folded] = s.Name
	}
	copied := copyPattern()
	for _, s := range sources {
		name := strings.ToLower(path.Base(s.Name))
		if !IsPolicy(s.Name) || !copied.MatchString(name) {
			continue
		}
		for _, other := range sources { // without the other file it is just the name of a policy
			stem, _, _ := strings.Cut(path.Base(other.Name), ".")
			if other.Name != s.Name && IsPolicy(other.Name) && strings.HasPrefix(name, strings.ToLower(stem)) {
				return other.Name, s.Name
			}
		}
	}
	return "", ""
}

// copyPattern matches the additions of Syncthing, Dropbox, Nextcloud, ownCloud, OneDrive, git and file managers to
// the name of a copy, in lower case. Words that the name of a policy may contain, such as local, match only
// with the number that such a tool adds.
func copyPattern() *regexp.Regexp {
	return regexp.MustCompile(
		`\.sync-conflict-|conflicted copy|case conflict|[_-]conflict-[0-9]|_(backup|local|remote|base)_[0-9]|` +
			` - copy| copy| \(copy| \([12]\)|\.(orig|bak|old)\.|~\.`)
}

// IsTest reports whether a name is that of tests beside policies, or of a guardrail.
func IsTest(name string) bool {
	ext := path.Ext(name)
	switch strings.ToLower(ext) {
	case ".yaml", ".yml":
		return strings.HasSuffix(strings.TrimSuffix(name, ext), "_test") && !strings.HasPrefix(name, "modules/")
	case ".rego":
		return strings.HasSuffix(name, "_test.rego")
	default:
		return false
	}
}

// IsPolicy reports whether a name is that of a policy, not of its tests.
func IsPolicy(name string) bool {
	if strings.HasPrefix(name, "modules/") {
		return false
	}
	ext := path.Ext(name)
	switch strings.ToLower(ext) {
	case ".yaml", ".yml":
		return !strings.HasSuffix(strings.TrimSuffix(name, ext), "_test")
	case ".json", ".cue":
		return true
	default:
		return false
	}
}
