package rootfs // the readers of outside bytes are not exported

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"path"
	"strings"
	"testing"
)

// counting tells how much of a file was asked for.
type counting struct {
	r     io.ReaderAt
	bytes int
}

func (c *counting) ReadAt(b []byte, off int64) (int, error) {
	c.bytes += len(b)
	return c.r.ReadAt(b, off)
}

// maxRead is what one object may make its reader ask for: headers, the dynamic
// section, and a string for each name.
const maxRead = maxSegments*56 + maxDynamic + (maxNeeded+4)*maxString + 4096

func FuzzObject(f *testing.F) {
	for _, name := range []string{"/proc/self/exe", "/bin/true", "/lib64/ld-linux-x86-64.so.2",
		"/lib/x86_64-linux-gnu/libm.so.6"} {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(b[:min(len(b), 8<<10)])
		}
	}
	f.Add([]byte(elf.ELFMAG))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &counting{r: bytes.NewReader(b)}
		o, err := readObject(c, elf.EM_X86_64)
		if c.bytes > maxRead {
			t.Errorf("asked for %d bytes", c.bytes)
		}
		if err != nil {
			return
		}
		if len(o.needed) > maxNeeded {
			t.Errorf("needs %d", len(o.needed))
		}
		for _, s := range append([]string{o.interp, o.soname}, o.needed...) {
			if len(s) > maxString || strings.IndexByte(s, 0) >= 0 {
				t.Errorf("a name of %d bytes", len(s))
			}
		}
	})
}

// TestObjectIsBounded gives the reader files that claim more than it takes.
func TestObjectIsBounded(t *testing.T) {
	const base, room = 0x1000, 1 << 20
	file := func(phnum int, dynamic []elf.Dyn64, text byte) []byte {
		h := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Phoff: 64, Phentsize: 56,
			Phnum: uint16(phnum)}
		copy(h.Ident[:], elf.ELFMAG+"\x02\x01\x01")
		progs := make([]elf.Prog64, phnum)
		progs[0] = elf.Prog64{Type: uint32(elf.PT_LOAD), Off: base, Vaddr: base, Filesz: 4 * room, Memsz: 4 * room}
		progs[1] = elf.Prog64{Type: uint32(elf.PT_DYNAMIC), Off: base, Vaddr: base, Filesz: 2 * room, Memsz: 2 * room}
		var b bytes.Buffer
		for _, part := range []any{h, progs} {
			if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
				t.Fatal(err)
			}
		}
		out := append(b.Bytes(), make([]byte, 5*room)...)
		b.Reset()
		if err := binary.Write(&b, binary.LittleEndian, dynamic); err != nil {
			t.Fatal(err)
		}
		copy(out[base:], b.Bytes())
		for i := range room {
			out[base+2*room+i] = text
		}
		return out
	}
	name := func(tag elf.DynTag, n int) (out []elf.Dyn64) {
		for range n {
			out = append(out, elf.Dyn64{Tag: int64(tag), Val: 0})
		}
		return append(out, elf.Dyn64{Tag: int64(elf.DT_STRTAB), Val: base + 2*room},
			elf.Dyn64{Tag: int64(elf.DT_STRSZ), Val: room}, elf.Dyn64{})
	}
	for _, tt := range []struct {
		what string
		file []byte
		want string // in the error; "": none
	}{
		{"what is usual", file(2, name(elf.DT_SONAME, 1), 0), ""},
		{"many segments", file(maxSegments+1, name(elf.DT_SONAME, 1), 0), "program headers"},
		{"a name without an end", file(2, name(elf.DT_SONAME, 1), 'x'), "dynamic section"},
		{"many libraries", file(2, name(elf.DT_NEEDED, maxNeeded+1), 'x'), "needs 257 libraries"},
		{"a dynamic section without an end", file(2, name(elf.DT_DEBUG, 2*room/16-3), 'x'), ""},
	} {
		c := &counting{r: bytes.NewReader(tt.file)}
		_, err := readObject(c, elf.EM_X86_64)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.what, err)
		}
		if c.bytes > maxDynamic+2*maxString+1024 {
			t.Errorf("%s: asked for %d bytes", tt.what, c.bytes)
		}
	}
}

func FuzzLoaderDirs(f *testing.F) {
	f.Add("include ld.so.conf.d/*.conf\n/usr/local/lib # here\n", "/opt/lib\nhwcap 0 x\n/old=libc6\n")
	f.Add("include /etc/ld.so.conf\ninclude /etc/ld.so.conf.d/[\ninclude *", "include ../ld.so.conf")
	f.Fuzz(func(t *testing.T, main, other string) {
		reads := 0
		dirs := loaderDirs(func(name string) ([]byte, bool) {
			if reads++; name == "/etc/ld.so.conf" {
				return []byte(main), true
			}
			return []byte(other), true
		}, func(string) []string { return []string{"a.conf", "b.conf", "ld.so.conf"} })
		if reads > maxConfFiles || len(dirs) > maxConfDirs {
			t.Errorf("%d files read, %d folders", reads, len(dirs))
		}
		seen := map[string]bool{}
		for _, d := range dirs {
			if !path.IsAbs(d) || path.Clean(d) != d || strings.IndexByte(d, 0) >= 0 || seen[d] {
				t.Errorf("folder %q", d)
			}
			seen[d] = true
		}
	})
}

func FuzzMounts(f *testing.F) {
	f.Add("36 35 98:0 /mnt1 /mnt\\040two rw,noatime master:1 - ext3 /dev/root rw\n")
	f.Add(`1 2 3 4 \777\0 - x`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range readMounts([]byte(text)) {
			if m.kind == "" || m.at == "" {
				t.Errorf("%+v", m)
			}
		}
	})
}

// White space that the kernel does not write as octal is of the path.
func TestMountsOfOddNames(t *testing.T) {
	got := readMounts([]byte("36 35 0:5 / /a\u00a0b\v\u2028c\\040d ro - proc proc rw\n"))
	if len(got) != 1 || got[0] != (mountPoint{at: "/a\u00a0b\v\u2028c d", kind: "proc"}) {
		t.Errorf("%+q", got)
	}
}

func TestLoaderDirs(t *testing.T) {
	files := map[string]string{
		"/etc/ld.so.conf": "include ld.so.conf.d/*.conf\n\t/usr/lib/last  \n", "/etc/ld.so.conf.d/b.conf": "/b\n/a\n", "/etc/ld.so.conf.d/a.conf": "# x\n/a # y\nrelative\n/c=libc6\n",
		"/etc/ld.so.conf.d/a.off": "/off",
	}
	got := loaderDirs(func(name string) ([]byte, bool) { s, ok := files[name]; return []byte(s), ok },
		func(dir string) []string { return []string{"a.conf", "a.off", "b.conf"} })
	if s := strings.Join(got, " "); s != "/a /c /b /usr/lib/last" {
		t.Errorf("folders %q", s)
	}
}
