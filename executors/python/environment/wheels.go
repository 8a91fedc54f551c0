// Wheels of Python are unpacked into a folder, once. A wheel comes from outside: a name that leads out of the
// folder, a link, a duplicate file and a file that is too large are errors, and nothing of the wheel is kept.

package environment

import (
	"archive/zip"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// unpackConfig says where, and for which interpreter.
type unpackConfig struct {
	Cache   string // folder of the daemon's own, in which unpacked wheels stay
	Minor   string // 3.11
	Machine string // x86_64

	// Limits of all wheels of a folder together. 0 is the default.
	Bytes int64
	Files int
}

// Defaults of unpackConfig.
const (
	defaultBytes = 8 << 30
	defaultFiles = 200_000
)

// unpacked is a folder of packages that was made of wheels.
type unpacked struct {
	Site  string
	Notes []string // skipped wheels, in words
}

// unpackWheels unpacks the wheels in dir that are for this interpreter into one folder. If it has unpacked the
// same wheels before, it returns that folder. If there is no such wheel, Site is empty.
func unpackWheels(dir string, cfg unpackConfig) (u unpacked, err error) {
	cfg.Bytes, cfg.Files = cmp.Or(cfg.Bytes, defaultBytes), cmp.Or(cfg.Files, defaultFiles)
	names, err := filepath.Glob(
		filepath.Join(strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir), "*.whl"),
	)
	if err != nil || len(names) == 0 {
		return u, err
	}
	slices.Sort(names)
	var fit []string
	seen := map[string]string{}
	sum := sha256.New()
	for _, n := range names {
		name, why := cfg.fits(filepath.Base(n))
		if why != "" {
			u.Notes = append(u.Notes, n+" "+why)
			continue
		}
		if seen[name] != "" {
			return u, fmt.Errorf("the wheels %s and %s are of one package: keep one of them", seen[name], n)
		}
		seen[name] = n
		fit = append(fit, n)
		if err := add(sum, n); err != nil {
			return u, fmt.Errorf("read wheel %s: %w", n, err)
		}
	}
	if len(fit) == 0 {
		return u, nil
	}
	if cfg.Cache == "" {
		return u, errors.New("wheels are unpacked into ringd's cache, and this host names none")
	}
	u.Site = filepath.Join(cfg.Cache, "wheels", hex.EncodeToString(sum.Sum(nil)))
	if _, err := os.Stat(u.Site); err == nil {
		return u, nil
	}
	return u, cfg.make(u.Site, fit)
}

func add(sum io.Writer, name string) (err error) {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	one := sha256.New()
	if _, err = io.Copy(one, f); err == nil {
		_, err = fmt.Fprintf(sum, "%q %x\n", filepath.Base(name), one.Sum(nil))
	}
	return err
}

// fits returns the package of a wheel by the name of its file, or why it is not for this interpreter:
// NAME-VERSION(-BUILD)-PYTHON-ABI-PLATFORM.whl.
func (c unpackConfig) fits(file string) (name, why string) {
	parts := strings.Split(strings.TrimSuffix(file, ".whl"), "-")
	if len(parts) < 5 || len(parts) > 6 {
		return "", "does not have the name of a wheel"
	}
	n := len(parts)
	tags := func(i int) []string { return strings.Split(parts[n-i], ".") }
	number := "cp" + strings.ReplaceAll(c.Minor, ".", "")
	python := slices.ContainsFunc(tags(3), func(t string) bool {
		return t == "py3" || t == "py"+number[2:] || t == number ||
			strings.HasPrefix(t, "cp3") && slices.Contains(tags(2), "abi3") && !later(t, number)
	})
	abi := slices.ContainsFunc(tags(2), func(t string) bool { return t == "none" || t == "abi3" || t == number })
	platform := slices.ContainsFunc(tags(1), func(t string) bool {
		return t == "any" || strings.Contains(t, "linux") && !strings.Contains(t, "musl") &&
			strings.HasSuffix(t, "_"+c.Machine)
	})
	if !python || !abi || !platform {
		return "", fmt.Sprintf("is for another interpreter or machine than Python %s on %s", c.Minor, c.Machine)
	}
	return strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(parts[0])), ""
}

// later reports whether a version such as cp312 is after another.
func later(a, b string) bool { return len(a) > len(b) || len(a) == len(b) && a > b }

// make unpacks wheels into a temporary folder and renames that into place.
func (c unpackConfig) make(site string, names []string) (err error) {
	if err := os.MkdirAll(filepath.Dir(site), 0o700); err != nil {
		return fmt.Errorf("unpack wheels: %w", err)
	}
	aside, err := os.MkdirTemp(filepath.Dir(site), "new-")
	if err != nil {
		return fmt.Errorf("unpack wheels: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(aside))
		}
	}()
	if err := os.Chmod(aside, 0o755); err != nil {
		return fmt.Errorf("unpack wheels: %w", err)
	}
	left := room{bytes: c.Bytes, files: c.Files}
	for _, n := range names {
		if err := left.unpack(n, aside); err != nil {
			return fmt.Errorf("unpack wheel %s: %w", n, err)
		}
	}
	if err := os.Rename(aside, site); err != nil {
		if _, there := os.Stat(site); there == nil {
			return os.RemoveAll(aside) // another process has made it meanwhile
		}
		return fmt.Errorf("unpack wheels: %w", err)
	}
	return nil
}

// room is the rest of the limits.
type room struct {
	bytes int64
	files int
}

func (r *room) unpack(name, to string) (err error) {
	z, err := zip.OpenReader(name)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return err
	}
	defer func() { err = errors.Join(err, z.Close()) }()
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, f := range z.File {
		at, ok, err := placeOf(f)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if r.files--; r.files < 0 {
			return errors.New("there are too many files")
		}
		if err := r.file(root, f, at); err != nil {
			return err
		}
	}
	return nil
}

// placeOf returns the place of a file of a wheel. ok is false if it is no part of a package: scripts, headers,
// folders.
func placeOf(f *zip.File) (at string, ok bool, err error) {
	name := f.Name
	if strings.HasSuffix(name, "/") && f.Mode().IsDir() {
		return "", false, nil
	}
	if !f.Mode().IsRegular() {
		return "", false, fmt.Errorf("%q is no plain file", name)
	}
	if strings.ContainsAny(name, "\\\x00") || !filepath.IsLocal(name) ||
		filepath.ToSlash(filepath.Clean(name)) != name {
		return "", false, fmt.Errorf("%q leads out of the folder", name)
	}
	top, rest, _ := strings.Cut(name, "/")
	if !strings.HasSuffix(top, ".data") {
		return name, true, nil
	}
	kind, rest, _ := strings.Cut(rest, "/")
	if (kind == "purelib" || kind == "platlib") && filepath.IsLocal(rest) {
		return rest, true, nil
	}
	return "", false, nil
}

func (r *room) file(root *os.Root, f *zip.File, at string) (err error) {
	if dir := filepath.Dir(at); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := root.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%q is there twice", at)
	}
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, r.bytes+1)) // the size in the header is not trusted
	if r.bytes -= n; r.bytes < 0 && err == nil {
		err = errors.New("it is too large unpacked")
	}
	return errors.Join(err, out.Close())
}
