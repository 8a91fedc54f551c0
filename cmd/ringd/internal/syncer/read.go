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

// attempts is how many passes Read makes at most to see the same twice.
const attempts = 5

// Read reads a folder as the syncer does. The digest is the one the daemon
// would compute. An error that wraps fs.ErrNotExist and none of the package's
// own means that the folder is not there.
//
// Two passes in a row have to agree in every name, link, inode, time and byte.
// So a push that replaces several files by the swap of one link is seen whole,
// before or after the swap. A file that somebody has open for writing is not
// finished, whatever it holds; that is seen where the system grants a read lease (on
// Linux to the file's owner and with CAP_LEASE, on file systems of this machine). Where
// it does not, the daemon takes a file for finished once it has stayed as it is for
// Config.Settle. A file whose writer died half way cannot be told from a finished one.
func Read(dir string, l Limits) (Push, error) {
	p, err := read(dir, l)
	return p.Push, err
}

// stamped is what changes when the folder does, without what its files hold. It opens
// each file: a file system of another machine asks there again how it is.
func stamped(dir string, l Limits) string {
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

// reading is a push and where it was found.
type reading struct {
	Push
	folders []folder // that were looked into or that links may lead through
}

// folder is a folder to be watched.
type folder struct {
	path string // relative to the sync directory
	id   string // of the inode
}

func read(dir string, l Limits) (reading, error) {
	l = l.withDefaults()
	var last *pass
	for range attempts {
		p, err := onePass(dir, l)
		switch {
		case err != nil && p == nil:
			return reading{}, err // the folder itself
		case err == nil && last != nil && last.err == nil && last.same(p):
			return p.reading()
		case err != nil && last != nil && last.err != nil && last.stamp == p.stamp && last.err.Error() == err.Error():
			return reading{folders: p.folders}, err // it is wrong in the same way twice
		}
		p.err = err
		last = p
	}
	if last.err != nil {
		return reading{folders: last.folders}, last.err
	}
	return reading{folders: last.folders}, fmt.Errorf("read %s: %w", dir, ErrTorn)
}

// pass is what one reading of the folder has seen.
type pass struct {
	root    *os.Root
	limits  Limits
	sources []schema.Source
	folders []folder
	stamps  hash.Hash // of every name and its inode, times and size
	stamp   string
	entries int
	total   int64
	foreign string // the first name that Limits.Only does not take
	err     error
}

// onePass reads the folder once. Without a pass the folder could not be opened.
func onePass(dir string, l Limits) (*pass, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, short(err)
	}
	defer root.Close()
	p := &pass{root: root, limits: l, stamps: sha256.New()}
	st, err := root.Stat(".")
	if err != nil {
		return nil, err
	}
	p.folders = append(p.folders, folder{".", inode(st)})
	if l.Only != "" {
		err = p.alone()
	} else {
		err = p.folder(".", 0)
	}
	p.stamp = string(p.stamps.Sum(nil))
	return p, err
}

// same reports whether two passes have seen the same.
func (p *pass) same(q *pass) bool {
	return p.stamp == q.stamp && slices.EqualFunc(p.sources, q.sources, func(a, b schema.Source) bool {
		return a.Name == b.Name && string(a.Data) == string(b.Data)
	})
}

func (p *pass) reading() (reading, error) {
	policies := slices.ContainsFunc(p.sources, func(s schema.Source) bool { return IsPolicy(s.Name) })
	beside := ""
	switch {
	case p.foreign != "" && policies:
		beside = fmt.Sprintf("%s is next to %s and is not read: remove it from the folder", clipped(p.foreign),
			p.limits.Only)
	case p.foreign != "":
		return reading{folders: p.folders}, fmt.Errorf("%s: %w, %s", clipped(p.foreign), ErrAnother, p.limits.Only)
	case !policies:
		return reading{folders: p.folders}, fmt.Errorf("read the folder: %w", ErrEmpty)
	}
	slices.SortFunc(p.sources, func(a, b schema.Source) int { return strings.Compare(a.Name, b.Name) })
	if first, second := twice(p.sources); second != "" {
		return reading{folders: p.folders}, fmt.Errorf("%s (next to %s): %w", clipped(second), clipped(first),
			ErrSecond)
	}
	return reading{Push{p.sources, digestOf(p.sources), beside}, p.folders}, nil
}

// folder reads everything in a folder and below.
func (p *pass) folder(dir string, depth int) error {
	if depth > p.limits.Depth {
		return fmt.Errorf("read %s: %w (%d folders)", dir, ErrTooDeep, p.limits.Depth)
	}
	names, err := p.names(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := p.entry(path.Join(dir, name), depth); err != nil {
			return err
		}
	}
	return nil
}

// alone reads the one file of Limits.Only, so that nothing beside it, however much or
// however busy, can keep it from being read.
func (p *pass) alone() error {
	name := p.limits.Only
	if err := p.others(); err != nil {
		return err
	}
	st, err := p.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fault(name, err)
	}
	if to, err := p.root.Readlink(name); err == nil && path.Dir(path.Clean(to)) != "." {
		through := path.Dir(path.Clean(to)) // a change there is a change of the file
		if in, err := p.root.Stat(through); err == nil && in.IsDir() {
			p.folders = append(p.folders, folder{through, inode(in)})
		}
	}
	return p.found(name, st, 0)
}

// maxOthers is how many names of a folder are looked at to tell what lies beside the one.
const maxOthers = 256

// others finds one visible name that does not belong beside the one that is read.
func (p *pass) others() error {
	if p.limits.Others || p.limits.names {
		return nil
	}
	f, err := p.root.OpenFile(".", os.O_RDONLY|onlyFolders|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fault(".", err)
	}
	defer f.Close()
	names, err := f.Readdirnames(maxOthers)
	if err != nil && !errors.Is(err, io.EOF) {
		return fault(".", err)
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

// names lists a folder, sorted, within the limit of entries.
func (p *pass) names(dir string) ([]string, error) {
	f, err := p.root.OpenFile(dir, os.O_RDONLY|onlyFolders|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fault(dir, err)
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
			return nil, fault(dir, err)
		}
	}
}

// entry takes one name of a folder. Every name counts for the comparison of
// passes; hidden ones count for nothing else.
func (p *pass) entry(name string, depth int) error {
	st, err := p.root.Lstat(name)
	if err != nil {
		return fault(name, err)
	}
	return p.found(name, st, depth)
}

// found takes a name of which st is what Lstat says.
func (p *pass) found(name string, st fs.FileInfo, depth int) (err error) {
	hidden, only := strings.HasPrefix(path.Base(name), "."), p.limits.Only
	fmt.Fprintf(p.stamps, "%q %s\n", name, stampOf(st))
	if st.Mode()&fs.ModeSymlink != 0 && !hidden {
		if st, err = p.root.Stat(name); err != nil {
			return link(name, err)
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
		return p.folder(name, depth+1)
	case hidden || !Wanted(name) && !(p.limits.Tests && IsTest(name)):
		return nil
	case !st.Mode().IsRegular(): // opening it could do something
		return fmt.Errorf("read %s: %w", name, ErrNotFile)
	default:
		return p.file(name)
	}
}

// file reads one file whole. It does not wait for a pipe that nobody writes.
func (p *pass) file(name string) error {
	if len(p.sources) >= p.limits.Files {
		return fmt.Errorf("read %s: %w (%d files)", name, ErrTooMany, p.limits.Files)
	}
	f, err := p.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return fault(name, err)
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return fault(name, err)
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
		return fault(name, err)
	}
	after, err := f.Stat()
	if err != nil {
		return fault(name, err)
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

// clipped is a name of a folder that nobody vouches for.
func clipped(name string) string {
	const most = 100
	if r := []rune(name); len(r) > most {
		name = string(r[:most]) + "…"
	}
	return strings.Trim(fmt.Sprintf("%q", name), `"`)
}

// fault names the file that could not be read. A name that was listed and is
// gone is somebody at work in the folder.
func fault(name string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w: it is gone", name, ErrTorn)
	}
	return fmt.Errorf("read %s: %w", name, short(err))
}

// short marks a fault that is about the host and not about the folder: what could not
// be looked at is neither there nor missing.
func short(err error) error {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN, syscall.EIO} {
		if errors.Is(err, e) {
			return fmt.Errorf("%w: %w", errShort, err)
		}
	}
	return err
}

// link says why a link cannot be followed.
func link(name string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("read %s: %w: %w", name, ErrLink, err)
}

// Wanted reports whether a visible file belongs to a push: a policy, any file below
// modules, or a guardrail below guardrails. Tests do not.
func Wanted(name string) bool {
	return strings.HasPrefix(name, "modules/") || IsPolicy(name) ||
		strings.HasPrefix(name, "guardrails/") && strings.HasSuffix(name, ".rego") &&
			!strings.HasSuffix(name, "_test.rego")
}

// twice finds two files of which one is a copy of the other by its name: what a sync
// tool or a person leaves, or the same name in another case.
func twice(sources []schema.Source) (first, second string) {
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
	copied := copies()
	for _, s := range sources {
		name := strings.ToLower(path.Base(s.Name))
		if !IsPolicy(s.Name) || !copied.MatchString(name) {
			continue
		}
		for _, other := range sources { // alone it is what somebody calls a policy
			stem, _, _ := strings.Cut(path.Base(other.Name), ".")
			if other.Name != s.Name && IsPolicy(other.Name) && strings.HasPrefix(name, strings.ToLower(stem)) {
				return other.Name, s.Name
			}
		}
	}
	return "", ""
}

// copies matches what Syncthing, Dropbox, Nextcloud, ownCloud, OneDrive, git and file
// managers put into the name of a copy, in small letters. Words that a policy may have in
// its name, such as local, count with the number that such a tool puts behind them.
func copies() *regexp.Regexp {
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

// IsPolicy reports whether a name is that of a policy and not of its tests.
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
