// Package enforcement owns what becomes of a field of the language once a policy is in
// force: for each executor, what enforces it and which test of this repository shows
// that; what somebody else has to enforce; and what nothing does.
//
// It is pure and claims nothing of a host: whether the layers that it names are there
// is the doctor's to say. A field without a row, and a proof that does not exist, fail a
// test. The verb enforcement and a table of the documentation show it.
package enforcement

import (
	"slices"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/fields"
)

// Level is how far a field is enforced.
type Level string

// The levels. The zero Level is none of them.
const (
	Enforced     Level = "enforced"
	Compile      Level = "compile" // a policy that breaks it does not compile; nothing is left to enforce
	Elsewhere    Level = "elsewhere"
	firstRefusal Level = "first-refusal" // honest code meets it; no boundary
	Annotation   Level = "annotation"
	Unsupported  Level = "unsupported" // a policy that has it does not compile
)

// cell is what becomes of a row in one executor.
type cell struct {
	Executor string   `json:"executor"` // js, python, shell
	Level    Level    `json:"level"`
	By       string   `json:"by"`               // the ring or layer; of Elsewhere who has to
	Proof    []string `json:"proof,omitempty"`  // "folder TestName", or "script name"; of Enforced
	Fields   []Shown  `json:"fields,omitempty"` // each field with its own test; of Enforced
}

// Row is a group of fields that the same thing enforces.
type Row struct {
	Name   string   `json:"name"`   // as an author would say it
	Fields []string `json:"fields"` // those of package fields that name the row
	Cells  []cell   `json:"cells"`  // an executor without one has no such field
	used   func(profiles.Agent) bool
}

// Rows are all rows, in the order of the language.
func Rows() []Row {
	rows := slices.Concat(wholeRows(), codeRows(), shellRows(), grantRows(), networkRows(), limitRows())
	of := map[string][]string{}
	for _, f := range fields.Table() {
		of[f.Row] = append(of[f.Row], f.Policy)
	}
	for i := range rows {
		rows[i].Fields = of[rows[i].Name]
		for j := range rows[i].Cells {
			if c := &rows[i].Cells[j]; c.Level == Enforced {
				c.Fields = shown(rows[i].Fields, c.Executor)
			}
		}
	}
	return rows
}

// Used are the rows of fields that an agent's profile has, each with the cells of the
// executors that it grants. Where the profile does not tell, the row is there.
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

// all is the same cell for each executor.
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
