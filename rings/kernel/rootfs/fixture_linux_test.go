package rootfs_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/kernel/initproto"
	"github.com/ringd/ringd/rings/kernel/rootfs"
)

// tree is a host for a test: text of files by path. A path that ends in a slash
// is a folder, a text that starts with "-> " a link, "= " another name of a file.
type tree map[string]string

// program is the text of an executable: its mode is 0755.
const program = "\x00program\n"

// build makes the tree, links last.
func (tr tree) build(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, late := range []bool{false, true} {
		for name, text := range tr {
			full := filepath.Join(root, name)
			other, hard := strings.CutPrefix(text, "= ")
			if hard != late {
				continue
			}
			must(os.MkdirAll(filepath.Dir(full), 0o755))
			to, soft := strings.CutPrefix(text, "-> ")
			body, executable := strings.CutPrefix(text, program)
			switch {
			case hard:
				must(os.Link(filepath.Join(root, other), full))
			case strings.HasSuffix(name, "/"):
				must(os.MkdirAll(full, 0o755))
			case soft:
				must(os.Symlink(to, full))
			case text == "socket", text == "fifo":
				kind := map[string]uint32{"socket": syscall.S_IFSOCK, "fifo": syscall.S_IFIFO}[text]
				must(syscall.Mknod(full, kind|0o600, 0))
			default:
				mode := os.FileMode(0o644)
				if executable {
					mode = 0o755
				}
				must(os.WriteFile(full, []byte(body), mode))
			}
		}
	}
	return root
}

// made is an ELF file to be.
type made struct {
	kind           elf.Type // 0: ET_DYN
	machine        elf.Machine
	interp, soname string
	needed         []string
	rpath, runpath string
	pie            bool
}

const loaderPath = "/lib64/ld-linux-x86-64.so.2"

// lib is the text of a library.
func lib(soname string, needed ...string) string { return made{soname: soname, needed: needed}.text() }

// bin is the text of a dynamic program.
func bin(needed ...string) string {
	return program + made{interp: loaderPath, needed: needed, pie: true}.text()
}

// text writes an ELF file: headers, and everything in one segment.
func (m made) text() string {
	if m.kind == 0 {
		m.kind = elf.ET_DYN
	}
	if m.machine == 0 {
		m.machine = elf.EM_X86_64
	}
	strtab := []byte{0}
	str := func(s string) uint64 {
		at := uint64(len(strtab))
		strtab = append(append(strtab, s...), 0)
		return at
	}
	var dyn []elf.Dyn64
	add := func(tag elf.DynTag, v uint64) { dyn = append(dyn, elf.Dyn64{Tag: int64(tag), Val: v}) }
	for _, n := range m.needed {
		add(elf.DT_NEEDED, str(n))
	}
	for tag, s := range map[elf.DynTag]string{elf.DT_SONAME: m.soname, elf.DT_RPATH: m.rpath,
		elf.DT_RUNPATH: m.runpath} {
		if s != "" {
			add(tag, str(s))
		}
	}
	if m.pie {
		add(elf.DT_FLAGS_1, uint64(elf.DF_1_PIE))
	}
	const base = 0x10000 // addresses are not offsets
	headers := uint64(binary.Size(elf.Header64{}) + 3*binary.Size(elf.Prog64{}))
	interpAt := headers
	strAt := interpAt + uint64(len(m.interp)) + 1
	dynAt := strAt + uint64(len(strtab))
	add(elf.DT_STRTAB, base+strAt)
	add(elf.DT_STRSZ, uint64(len(strtab)))
	add(elf.DT_NULL, 0)
	dynSize := uint64(len(dyn) * binary.Size(elf.Dyn64{}))
	end := dynAt + dynSize
	h := elf.Header64{Type: uint16(m.kind), Machine: uint16(m.machine), Version: 1,
		Phoff: uint64(binary.Size(elf.Header64{})), Phentsize: uint16(binary.Size(elf.Prog64{})), Phnum: 3}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB),
		1
	progs := []elf.Prog64{
		{Type: uint32(elf.PT_LOAD), Vaddr: base, Filesz: end, Memsz: end},
		{Type: uint32(elf.PT_DYNAMIC), Off: dynAt, Vaddr: base + dynAt, Filesz: dynSize, Memsz: dynSize},
		{Type: uint32(elf.PT_NULL)},
	}
	if m.interp != "" {
		progs[2] = elf.Prog64{Type: uint32(elf.PT_INTERP), Off: interpAt, Vaddr: base + interpAt,
			Filesz: uint64(len(m.interp)) + 1}
	}
	var b bytes.Buffer
	for _, part := range []any{h, progs, append([]byte(m.interp), 0), strtab, dyn} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			return err.Error()
		}
	}
	return b.String()
}

// usual is a host with merged /usr, a loader and a libc.
func usual(more tree) tree {
	tr := tree{
		"/bin": "-> usr/bin", "/lib": "-> usr/lib", "/lib64": "-> usr/lib64", "/usr/bin/": "",
		"/usr/lib64/ld-linux-x86-64.so.2":                "-> /lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2": program + lib("ld-linux-x86-64.so.2"),
		"/usr/lib/x86_64-linux-gnu/libc.so.6":            program + made{interp: loaderPath, soname: "libc.so.6", needed: []string{"ld-linux-x86-64.so.2"}}.text(),
		"/etc/ld.so.conf":                                "include ld.so.conf.d/*.conf\n",
		"/etc/ld.so.conf.d/libc.conf":                    "# libc\n/usr/local/lib\n",
		"/etc/ld.so.cache":                               "cache",
	}
	for name, text := range more {
		tr[name] = text
	}
	return tr
}

// rules are those of the paths, each with a line of its own.
func rules(paths ...string) (out []profiles.PathRule) {
	for i, p := range paths {
		out = append(out, profiles.PathRule{Path: p, Rule: profiles.Rule{
			File: "policy.cue", Line: 10 + i, Path: "filesystem"}})
	}
	return out
}

// show writes mounts as lines: what they give, and the path.
func show(mounts []initproto.Mount) (out []string) {
	for _, m := range mounts {
		if m.Link != "" {
			out = append(out, "link "+m.Path+" -> "+m.Link)
			continue
		}
		flags := []byte("----")
		for i, set := range []bool{m.Read, m.Write, m.Exec, m.Map} {
			if set {
				flags[i] = "rwxm"[i]
			}
		}
		name := string(flags)
		if m.Hide {
			name = "hide"
		}
		if m.List {
			name = "list"
		}
		slash := ""
		if m.Dir {
			slash = "/"
		}
		once := ""
		if m.Once {
			once = " once"
		}
		out = append(out, fmt.Sprintf("%s %s%s%s", name, m.Path, slash, once))
	}
	return out
}

// resolve resolves k in a tree as root of the host.
func resolve(t *testing.T, root string, k profiles.Kernel, program string, at rootfs.Places) (rootfs.Plan, error) {
	t.Helper()
	at.Root, at.Arch = root, "amd64"
	plan, err := rootfs.Resolve(k, program, at)
	if err != nil {
		return plan, err
	}
	for _, m := range plan.Mounts {
		if m.Link != "" {
			continue
		}
		var st syscall.Stat_t
		if err := syscall.Lstat(root+m.Path, &st); err != nil {
			t.Fatal(err)
		}
		if uint64(st.Dev) != m.Device || st.Ino != m.Inode || (st.Mode&syscall.S_IFMT == syscall.S_IFDIR) != m.Dir {
			t.Errorf("%s: the mount is of another file", m.Path)
		}
	}
	return plan, nil
}
