package schema

import (
	"reflect"
	"strconv"
	"strings"
)

// Origins maps paths to the positions of values.
type Origins = map[string]Origin

// MoveOrigins copies the positions of a value, and of everything in it, from a path in one map to a path in
// another.
func MoveOrigins(to Origins, path string, from Origins, old string, v any) {
	walk(reflect.ValueOf(v), path, old, func(path, old string) {
		if o, ok := from[old]; ok {
			to[path] = o
		}
	})
}

// ForgetOrigins removes the positions of a value and of everything in it.
func ForgetOrigins(from Origins, path string, v any) {
	walk(reflect.ValueOf(v), path, path, func(path, _ string) { delete(from, path) })
}

// walk visits the paths of a value and of everything in it, under two prefixes.
func walk(v reflect.Value, path, other string, visit func(path, other string)) {
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return
	}
	visit(path, other)
	inside(v, path, other, visit)
}

func inside(v reflect.Value, path, other string, visit func(path, other string)) {
	switch v.Kind() {
	case reflect.Pointer:
		inside(v.Elem(), path, other, visit)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			at := "[" + strconv.Itoa(i) + "]"
			walk(v.Index(i), path+at, other+at, visit)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			walk(v.MapIndex(key), path+"."+key.String(), other+"."+key.String(), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			tag, f := v.Type().Field(i).Tag.Get("cue"), v.Field(i)
			if tag == "" || f.IsZero() && f.Kind() != reflect.Bool && f.Kind() != reflect.Int &&
				f.Kind() != reflect.Int64 {
				continue
			}
			if group, _, dotted := strings.Cut(tag, "."); dotted {
				visit(path+"."+group, other+"."+group)
			}
			walk(f, path+"."+tag, other+"."+tag, visit)
		}
	}
}

// IndexPath returns the path of a list item.
func IndexPath(at string, i int) string { return at + "[" + strconv.Itoa(i) + "]" }

// WithOrigin returns a finding at a position, with the author's path before its message.
func WithOrigin(o Origin, d Diagnostic) Diagnostic {
	d.Pos = o.Pos
	if o.Path != "" {
		d.Msg = o.Path + ": " + d.Msg
	}
	return d
}

// OriginOf returns the position of a value of a policy, or of the nearest value around it.
func OriginOf(p *Policy, path string) Origin {
	for at := path; at != ""; at = at[:max(0, strings.LastIndexAny(at, ".["))] {
		if o, ok := p.Origins[at]; ok {
			return o
		}
	}
	if o, ok := p.Origins[""]; ok {
		return o
	}
	return Origin{Pos: Pos{File: p.File, Line: 1, Column: 1}, Path: path}
}
