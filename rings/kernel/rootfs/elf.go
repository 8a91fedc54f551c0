package rootfs

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits of reading one object: more than any real one has, and little memory whatever the file says.
const (
	maxSegments = 1024
	maxDynamic  = 64 << 10 // bytes of the dynamic section
	maxNeeded   = 256
	maxString   = 4096
)

// Errors of readObject.
var (
	errNotELF  = errors.New("is not an ELF file")
	errForeign = errors.New("is for another kind of machine")
)

// object holds the fields of an ELF file that a loader reads. They come from the program headers, as for kernel
// and loader: a file without sections can still run.
type object struct {
	interp  string
	soname  string
	needed  []string
	rpath   []string // nil if there is none
	runpath []string
	shared  bool // ET_DYN: a library, or a program that may be loaded anywhere
	program bool // the file says itself that it is one
}

// library reports whether o is to be loaded, not started.
func (o *object) library() bool {
	return o.shared && !o.program && (o.interp == "" || o.soname != "")
}

// segments are the segments of an object.
type segments struct {
	r    io.ReaderAt
	load []elf.Prog64
}

// readObject reads the headers of an ELF file of the given machine, 64 bits and little-endian. Errors wrap
// errNotELF or errForeign, or describe the defect.
func readObject(r io.ReaderAt, machine elf.Machine) (*object, error) {
	var ident [4]byte
	if _, err := r.ReadAt(ident[:], 0); err != nil || string(ident[:]) != elf.ELFMAG {
		return nil, errNotELF
	}
	var h elf.Header64
	if err := readAt(r, 0, &h); err != nil {
		return nil, errNotELF
	}
	if elf.Class(h.Ident[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Data(h.Ident[elf.EI_DATA]) != elf.ELFDATA2LSB ||
		elf.Machine(h.Machine) != machine {
		return nil, errForeign
	}
	kind := elf.Type(h.Type)
	if kind != elf.ET_EXEC && kind != elf.ET_DYN {
		return nil, fmt.Errorf("is an ELF file of type %v, neither program nor library", kind)
	}
	if h.Phentsize != uint16(binary.Size(elf.Prog64{})) || h.Phnum == 0 || h.Phnum > maxSegments {
		return nil, errors.New("has program headers that cannot be read")
	}
	progs := make([]elf.Prog64, h.Phnum)
	if err := readAt(r, h.Phoff, progs); err != nil {
		return nil, errors.New("has program headers that cannot be read")
	}
	o := &object{shared: kind == elf.ET_DYN}
	s := segments{r: r}
	var dynamic *elf.Prog64
	for i, p := range progs {
		switch p.Type {
		case uint32(elf.PT_LOAD):
			s.load = append(s.load, p)
		case uint32(elf.PT_DYNAMIC):
			dynamic = &progs[i]
		case uint32(elf.PT_INTERP):
			if o.interp != "" {
				continue // the kernel takes the first
			}
			text, err := readString(r, p.Off, p.Filesz)
			if err != nil || text == "" {
				return nil, errors.New("names no interpreter that can be read")
			}
			o.interp = text
		}
	}
	if dynamic == nil {
		return o, nil
	}
	return o, s.dynamic(o, dynamic)
}

// dynamic reads the dependencies of o.
func (s *segments) dynamic(o *object, p *elf.Prog64) error {
	unreadable := errors.New("has a dynamic section that cannot be read")
	at, room := s.offset(p.Vaddr)
	size := min(p.Memsz, p.Filesz, room, maxDynamic)
	entries := make([]elf.Dyn64, size/uint64(binary.Size(elf.Dyn64{})))
	if readAt(s.r, at, entries) != nil {
		return unreadable
	}
	var strtab, strsz, flags uint64
	var needed []uint64
	named := map[int64]uint64{}
	for _, d := range entries {
		if d.Tag == int64(elf.DT_NULL) {
			break
		}
		switch d.Tag {
		case int64(elf.DT_STRTAB):
			strtab = d.Val
		case int64(elf.DT_STRSZ):
			strsz = d.Val
		case int64(elf.DT_FLAGS_1):
			flags = d.Val
		case int64(elf.DT_NEEDED):
			needed = append(needed, d.Val)
		case int64(elf.DT_SONAME), int64(elf.DT_RPATH), int64(elf.DT_RUNPATH):
			named[d.Tag] = d.Val
		}
	}
	o.program = elf.DynFlag1(flags)&elf.DF_1_PIE != 0
	if len(needed) > maxNeeded {
		return fmt.Errorf("needs %d libraries, more than the %d that are looked for", len(needed), maxNeeded)
	}
	text := func(index uint64) (string, error) {
		base, room := s.offset(strtab)
		if index >= strsz || index >= room {
			return "", unreadable
		}
		return readString(s.r, base+index, min(strsz, room)-index)
	}
	for _, index := range needed {
		name, err := text(index)
		if err != nil || name == "" {
			return unreadable
		}
		o.needed = append(o.needed, name)
	}
	for tag, index := range named {
		name, err := text(index)
		if err != nil {
			return unreadable
		}
		switch tag {
		case int64(elf.DT_RPATH):
			o.rpath = strings.Split(name, ":")
		case int64(elf.DT_RUNPATH):
			o.runpath = strings.Split(name, ":")
		default:
			o.soname = name
		}
	}
	return nil
}

// offset returns the file offset of an address, and how many bytes follow there.
func (s *segments) offset(addr uint64) (at, room uint64) {
	for _, p := range s.load {
		if addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			return p.Off + (addr - p.Vaddr), p.Filesz - (addr - p.Vaddr)
		}
	}
	return 0, 0
}

// readAt fills v, which has a fixed size, from the file.
func readAt(r io.ReaderAt, at uint64, v any) error {
	if at > 1<<62 {
		return io.ErrUnexpectedEOF
	}
	return binary.Read(io.NewSectionReader(r, int64(at), int64(binary.Size(v))), binary.LittleEndian, v)
}

// readString reads up to a NUL, which has to be within room bytes.
func readString(r io.ReaderAt, at, room uint64) (string, error) {
	if at > 1<<62 {
		return "", io.ErrUnexpectedEOF
	}
	b := make([]byte, min(room, maxString))
	n, err := r.ReadAt(b, int64(at))
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	text, _, ok := bytes.Cut(b[:n], []byte{0})
	if !ok {
		return "", io.ErrUnexpectedEOF
	}
	return string(text), nil
}
