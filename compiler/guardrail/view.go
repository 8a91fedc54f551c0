package guardrail

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringd/ringd/profiles"
)

// Input is the input of a guardrail on the policy. Every field is always present: lists may be empty, and absent values
// are null. So a wrong path is found at compile time. docs/LAYERS.md shows it, and `ringd schema --guardrail` prints
// its JSON Schema.
type Input struct {
	Effective Effective  `json:"effective" doc:"what the agent may do"`
	Previous  *Effective `json:"previous" doc:"the same before this change; null: no policy, or not known"`
	Layers    []Layer    `json:"layers" doc:"its documents, the outermost first; empty: one document"`
	Now       *string    `json:"now" doc:"the time, RFC 3339 in UTC; null: the time is not known"`
	Target    string     `json:"target" enum:"sources,host" doc:"sources: a policy is checked; host: a daemon is about to bring it in force"`
}

// The targets of an Input.
const (
	TargetSources = "sources"
	TargetHost    = "host"
)

// Layer is one of the documents from which the agent was merged.
type Layer struct {
	Kind     string `json:"kind" enum:"OrgPolicy,TeamPolicy,AgentPolicy"`
	Name     string `json:"name"`
	Revision int    `json:"revision"`
	Owner    string `json:"owner"`
	File     string `json:"file"`
}

// Powers are the powers of the bridge that is called.
type Powers struct {
	Sensitive bool `json:"sensitive"`
	Untrusted bool `json:"untrusted"`
	External  bool `json:"external"`
}

// Effective is what one agent may do, with all defaults filled in: an object with the properties of
// profiles.Agent. It uses the names of the policy language.
type Effective map[string]any

// View returns what one agent may do, for guardrails.
func View(a profiles.Agent) Effective { return object(reflect.ValueOf(a), shownFields(granted(a))) }

// layersOf returns the documents from which an agent was merged.
func layersOf(a profiles.Agent) []Layer {
	out := make([]Layer, len(a.Layers))
	for i, l := range a.Layers {
		out[i] = Layer(l)
	}
	return out
}

// granted returns the executors of an agent. It is never nil.
func granted(a profiles.Agent) []string {
	out := []string{}
	for _, e := range []struct {
		name string
		is   bool
	}{{profiles.ExecutorJS, a.JS != nil}, {profiles.ExecutorPython, a.Python != nil},
		{profiles.ExecutorShell, a.Shell != nil}} {
		if e.is {
			out = append(out, e.name)
		}
	}
	return out
}

// property is one field of an object in the input of a guardrail.
type property struct {
	name  string // a name with a dot puts it into an object of its own
	doc   string
	enum  string // its values, separated by commas; for a bool, the words for false and true
	empty string // replaces an empty text

	of    reflect.Type
	index int                     // of the field in its struct
	value func(reflect.Value) any // of the struct; nil: the field as it is
	hide  bool
}

// made returns p with a value that a function computes from the struct.
func made[T, V any](p property, value func(T) V) property {
	p.of = reflect.TypeFor[V]()
	p.value = func(in reflect.Value) any { return value(in.Interface().(T)) }
	return p
}

// propertiesOf lists the properties of a struct. The fields of a profile have the names of its JSON, unless shown has a
// row for them, so a new field is a property without a row. A profiles.Rule, the position of a value, is no property.
func propertiesOf(t reflect.Type, shown map[string]property) []property {
	var out []property
	for i := range t.NumField() {
		f := t.Field(i)
		p := shown[t.Name()+"."+f.Name]
		if p.hide || f.Type == reflect.TypeFor[profiles.Rule]() && p.value == nil {
			continue
		}
		p.index = i
		if p.of == nil {
			p.of = f.Type
		}
		if p.name == "" {
			p.name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
		}
		if t.PkgPath() == reflect.TypeFor[Input]().PkgPath() {
			p.doc, p.enum = f.Tag.Get("doc"), f.Tag.Get("enum")
		}
		out = append(out, p)
	}
	return out
}

// object returns the properties of a struct with their values.
func object(in reflect.Value, shown map[string]property) map[string]any {
	out := map[string]any{}
	for _, p := range propertiesOf(in.Type(), shown) {
		var value any
		switch field := in.Field(p.index); {
		case p.value != nil:
			value = p.value(in)
		case p.of.Kind() == reflect.Bool && p.enum != "":
			no, yes, _ := strings.Cut(p.enum, ",")
			if value = no; field.Bool() {
				value = yes
			}
		case p.empty != "":
			value = cmp.Or(field.String(), p.empty)
		default:
			value = plain(field, shown)
		}
		to, name := out, p.name
		if around, inside, dotted := strings.Cut(p.name, "."); dotted {
			if out[around] == nil {
				out[around] = map[string]any{}
			}
			to, name = out[around].(map[string]any), inside
		}
		to[name] = value
	}
	return out
}

// plain converts a value of a profile. An entry of a list of rules becomes its text. A nil list becomes an empty one,
// because it would be null.
func plain(v reflect.Value, shown map[string]property) any {
	switch one := v.Interface().(type) {
	case profiles.ImportRule:
		return one.Name
	case profiles.PathRule:
		return one.Path
	case profiles.Pattern:
		return one.Text
	case profiles.AskRule:
		return one.Pattern.Text
	case *profiles.Rule:
		return one != nil
	case time.Time:
		return one.UTC().Format(time.RFC3339)
	}
	switch v.Kind() {
	case reflect.Pointer:
		switch {
		case !v.IsNil():
			return plain(v.Elem(), shown)
		case v.Type().Elem().Kind() == reflect.Int64: // a limit
			return int64(0)
		default:
			return nil
		}
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plain(v.Index(i), shown)
		}
		return out
	case reflect.Map: // by name
		out := []any{}
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for _, name := range names {
			out = append(out, plain(v.MapIndex(name), shown))
		}
		return out
	case reflect.Struct:
		return object(v, shown)
	default:
		return v.Interface()
	}
}

// shownFields returns the fields of profiles that need a row: another name, a description, another value, or none. A
// bridge without a list of executors has the granted ones.
func shownFields(granted []string) map[string]property {
	out := map[string]property{}
	for _, rows := range []map[string]property{ofAgents(granted), ofCode(), ofScripts(), ofBridges(granted),
		ofHosts()} {
		maps.Copy(out, rows)
	}
	return out
}

func ofAgents(granted []string) map[string]property {
	const none = "null: not granted"
	return map[string]property{
		"Agent.Name":   {name: "agent"},
		"Agent.Policy": {doc: "metadata.name of the policy it comes from"},
		"Agent.Mode":   {enum: "enforce,audit", empty: "enforce"},
		"Agent.Audit":  {enum: "strict,", doc: "strict: every record is on disk before the recorded action happens"},
		"Agent.ExecutorsRule": made(property{name: "executors.allowed"},
			func(profiles.Agent) []string { return granted }),
		"Agent.MinTier":   {name: "executors.minTier", enum: "process,wasm,os-sandbox,container,microvm,remote"},
		"Agent.JS":        {name: "executors.js", doc: none},
		"Agent.Python":    {name: "executors.python", doc: none},
		"Agent.Shell":     {name: "executors.shell", doc: none},
		"Agent.Files":     {name: "filesystem"},
		"Agent.Egress":    {name: "network"},
		"Agent.Inputs":    {name: "inputs.powers"},
		"Agent.Sessions":  {doc: "null: runs leave no state to later runs"},
		"Agent.RuleOfTwo": {doc: "null: the rule of two does not apply to the agent"},
		"Agent.Layers":    {hide: true}, // Input has them
		"Agent.Strict":    {hide: true},
		"Agent.Deadline":  {hide: true},

		"Sessions.AgeMillis": {name: "maxAgeMillis"},
		"Sessions.Bytes":     {name: "maxSizeBytes"},
		"RuleOfTwo.Mode":     {enum: "enforce,report,dynamic"},
		"RuleOfTwo.OnThree":  {enum: "deny,require-approval"},
		"RuleOfTwo.Scope":    {enum: "run,session"},
		"Exception.Lifts":    {hide: true},
		"Exception.Grants":   {hide: true},
		"Guardrail.On":       {enum: "policy,call"},
		"Guardrail.Rego":     {hide: true},
	}
}

func ofCode() map[string]property {
	return map[string]property{
		"Imports.Process": {name: "denyProcess"},
		"Imports.Default": {doc: "no list was written, and the executor's default set is granted"},
		"Imports.Any":     {doc: "everything that nothing denies is granted"},
		"Imports.Absent":  {hide: true},
		"Imports.Only":    {hide: true},

		"JS.DenyGlobals":           {name: "globals.deny"},
		"Python.DenyBuiltins":      {name: "builtins.deny"},
		"Python.Engine":            {name: "tier", enum: "os-sandbox,wasm", empty: "os-sandbox"},
		"Python.EndOnDenied":       {name: "onDenied", enum: "report,end"},
		"PythonEnvironment.Digest": {doc: "empty: any content"},
	}
}

func ofScripts() map[string]property {
	return map[string]property{
		"Shell.DeniedPatterns": {name: "denyPatterns"},
		"Shell.Pipes":          {name: "allowPipes"},
		"Shell.Redirects":      {name: "allowRedirects"},
		"Shell.Substitution":   {name: "allowSubstitution"},
		"Shell.Env":            {hide: true},
		"Shell.Audit":          {hide: true},

		"Binary.Interpreted": {doc: "a shell, whose scripts ringd itself runs"},
		"Binary.Allow":       made(property{name: "subcommands", doc: "null: all sub-commands"}, subcommands),
		"Binary.MaxArgs":     {doc: "0: only the limit of the system"},
		"Binary.ForceArgs":   {hide: true},
		"Binary.ForceEnv":    {hide: true},
		"Binary.Exception":   {doc: "the id of the exception that grants it; empty: none"},
	}
}

// subcommands returns the granted sub-commands of a program, or nil if all are allowed.
func subcommands(b profiles.Binary) *[]string {
	if b.Allow == nil {
		return nil
	}
	texts := []string{}
	for _, p := range b.Allow {
		texts = append(texts, p.Text)
	}
	return &texts
}

func ofBridges(granted []string) map[string]property {
	return map[string]property{
		"Bridge.Executors": made(property{doc: "executors that may call it"}, func(b profiles.Bridge) []string {
			if len(b.Executors) == 0 {
				return granted
			}
			return b.Executors
		}),
		"Bridge.Arguments": made(property{name: "checked", doc: "whether its argument has a JSON Schema"},
			func(b profiles.Bridge) bool { return b.Arguments != nil || len(b.Also) > 0 }),
		"Bridge.Result":     {hide: true},
		"Bridge.Also":       {hide: true},
		"Bridge.AlsoResult": {hide: true},
		"Bridge.Approval":   {doc: "null: no approval is needed"},
		"Bridge.Audit":      {enum: "metadata,full", empty: "metadata"},

		"BridgeLimits.ArgumentBytes": {name: "requestBytes"},
		"BridgeLimits.ResultBytes":   {name: "responseBytes"},

		"Approval.From":       {doc: "empty: every approver of the host"},
		"Approval.Count":      made(property{}, func(p profiles.Approval) int64 { return max(p.Count, 1) }),
		"Approval.When":       {doc: "the condition; empty: every call needs the approval"},
		"Approval.HoldMillis": {hide: true},
	}
}

func ofHosts() map[string]property {
	return map[string]property{
		"Egress.Mode":  {enum: "off,gateway-only,allowlist", empty: profiles.EgressOff},
		"Egress.Allow": {name: "egress"},
		"Egress.Deny": made(property{doc: "host, or host:port if only one port is denied"},
			func(e profiles.Egress) []string {
				out := []string{}
				for _, r := range e.Deny {
					out = append(out, denied(r)...)
				}
				return out
			}),
		"EgressRule.Methods": {doc: "empty: all methods, or requests that cannot be read"},
		"EgressRule.ECH":     {hide: true},
		"EgressRule.Limits":  {hide: true},
		"EgressRule.Of":      {hide: true},
		"EgressRule.Under":   {hide: true},
		"Gateway.Addresses":  {hide: true},
		"Gateway.Limits":     {hide: true},
		"Gateway.Under":      {hide: true},
	}
}

// denied returns a denied host in the form of policies. A denial without a port is for every port, so the text
// of a denial for a single port must have the port.
func denied(r profiles.EgressRule) (out []string) {
	if r.AnyPort || len(r.Ports) == 0 {
		return []string{r.Host}
	}
	host := r.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	for _, port := range r.Ports {
		out = append(out, host+":"+strconv.Itoa(port))
	}
	return out
}
