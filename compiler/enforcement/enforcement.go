// Package enforcement owns the table of enforcement: for each field of the policy language and each executor, the part
// that enforces it and the test in this repository that proves it, the fields that others must enforce, and those that
// nothing enforces. Package fields says which row a field belongs to, and which test proves it.
//
// It makes no claim about a host: the doctor checks whether the layers are available. A field without a row, and a
// proof that does not exist, fail a test. The command enforcement and a table of the documentation show it.
package enforcement

import (
	"slices"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/fields"
)

// Level is the degree of enforcement of a field.
type Level string

// The levels. The zero Level is invalid.
const (
	Enforced     Level = "enforced"
	Compile      Level = "compile" // a policy that violates it does not compile, so nothing remains to enforce
	Elsewhere    Level = "elsewhere"
	firstRefusal Level = "first-refusal" // stops honest code; not a security boundary
	Annotation   Level = "annotation"
	Unsupported  Level = "unsupported" // a policy with the field does not compile
)

// cell is the enforcement of a row in one executor.
type cell struct {
	Executor string   `json:"executor"` // js, python, shell
	Level    Level    `json:"level"`
	By       string   `json:"by"`               // the ring or layer; for Elsewhere, who must enforce it
	Proof    []string `json:"proof,omitempty"`  // "folder TestName", or "script name"; for Enforced
	Fields   []Shown  `json:"fields,omitempty"` // each field with its own test; for Enforced
}

// Shown is the test that proves that a field is enforced, from its row in package fields.
type Shown struct {
	Field string `json:"field"`
	Test  string `json:"test"`
	Word  string `json:"word"`
}

// Row is a group of fields with the same enforcement.
type Row struct {
	Name   string   `json:"name"`   // as an author would call it
	Fields []string `json:"fields"` // the fields in package fields that name the row
	Cells  []cell   `json:"cells"`  // an executor without a cell does not have the fields
	used   func(profiles.Agent) bool
}

// Rows returns all rows, in the order of the language.
func Rows() []Row {
	rows := slices.Concat(wholeRows(), codeRows(), shellRows(), grantRows(), networkRows(), limitRows())
	of := map[string][]fields.Field{}
	for _, f := range fields.Table() {
		of[f.Row] = append(of[f.Row], f)
	}
	for i := range rows {
		r := &rows[i]
		for _, f := range of[r.Name] {
			r.Fields = append(r.Fields, f.Policy)
			for j := range r.Cells {
				if c := &r.Cells[j]; c.Level == Enforced {
					c.Fields = append(c.Fields, shown(f, c.Executor))
				}
			}
		}
	}
	return rows
}

// shown returns the test that proves a field in an executor. A field without one fails a test.
func shown(f fields.Field, executor string) Shown {
	for _, p := range f.Proofs {
		if p.Executor == "" || p.Executor == executor {
			return Shown{f.Policy, p.Test, p.Word}
		}
	}
	return Shown{Field: f.Policy}
}

// Used returns the rows of the fields that an agent's profile uses, with the cells of its executors. If the
// profile does not show whether a row is used, the row is included.
func Used(a profiles.Agent) []Row {
	granted := map[string]bool{profiles.ExecutorJS: a.JS != nil, profiles.ExecutorPython: a.Python != nil,
		profiles.ExecutorShell: a.Shell != nil}
	var out []Row
	for _, r := range Rows() {
		if r.used == nil || !r.used(a) {
			continue
		}
		r.Cells = slices.DeleteFunc(slices.Clone(r.Cells), func(c cell) bool { return !granted[c.Executor] })
		if len(r.Cells) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// all returns the same cell for each executor.
func all(level Level, by string, proof ...string) []cell {
	var out []cell
	for _, e := range []string{profiles.ExecutorJS, profiles.ExecutorPython, profiles.ExecutorShell} {
		out = append(out, cell{Executor: e, Level: level, By: by, Proof: proof})
	}
	return out
}

func js(level Level, by string, proof ...string) cell {
	return cell{Executor: profiles.ExecutorJS, Level: level, By: by, Proof: proof}
}

func python(level Level, by string, proof ...string) cell {
	return cell{Executor: profiles.ExecutorPython, Level: level, By: by, Proof: proof}
}

func shell(level Level, by string, proof ...string) cell {
	return cell{Executor: profiles.ExecutorShell, Level: level, By: by, Proof: proof}
}

func always(profiles.Agent) bool { return true }
