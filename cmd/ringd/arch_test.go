package main_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is this project's module path; every key below is relative to it.
const module = "github.com/ringd/ringd"

// layers says which packages of the project a package may import. A package
// that is not listed fails the test: a new one is a decision.
var layers = map[string][]string{
	"schema/layout": {"schema", "schema/scalar", "schema/shape"},

	"compiler/lint": {"compiler/exceptions", "compiler/layers", "compiler/layers/places", "profiles/hosts", "profiles/modules", "schema"},

	"cmd/ringd/internal/testcmd": {"compiler/cases", "compiler/exceptions", "compiler/guardrail", "profiles", "rings/interpreter/budget", "rings/interpreter/shape", "schema", "cmd/ringd/internal/child", "cmd/ringd/internal/cli", "cmd/ringd/internal/decide", "cmd/ringd/internal/render", "cmd/ringd/internal/script", "cmd/ringd/internal/sources", "cmd/ringd/internal/syncer", "cmd/ringd/internal/disk"},

	"compiler/cases": {"profiles", "profiles/near", "schema"},

	"schema/finding": {},

	"cmd/ringd/internal/policycmd": {
		"cmd/ringd/internal/inert", "compiler/enforcement", "compiler/guardrail", "profiles", "schema", "schema/layout", "cmd/ringd/internal/auditcmd", "cmd/ringd/internal/suggest", "compiler/least", "compiler/lint", "cmd/ringd/internal/cli", "cmd/ringd/internal/config", "cmd/ringd/internal/render", "cmd/ringd/internal/sources", "cmd/ringd/internal/disk",
		"executors", "rings/kernel/order",
	},

	"schema/above":  {"schema/finding"},
	"schema":        {"schema/above", "schema/finding", "schema/shape", "schema/scalar", "schema/syntax", "schema/prose", "profiles/jsontext"},
	"schema/shape":  {"profiles/near"},
	"schema/scalar": {"schema/shape"},
	"schema/prose":  {},
	"schema/emit":   {"schema"},
	"schema/adopt":  {"schema"},
	"schema/syntax": {},
	"schema/wire":   {"profiles"},
	"schema/client": {"schema/wire", "profiles"},
	"profiles":      {"profiles/action", "profiles/argschema", "profiles/command", "profiles/egress", "profiles/egress/hello", "profiles/egress/request", "profiles/excepted", "profiles/form", "profiles/grants", "profiles/guest", "profiles/hosts", "profiles/jsontext", "profiles/modules", "profiles/near", "profiles/paths", "profiles/redirect", "profiles/rule", "profiles/variables", "profiles/verdict", "profiles/words"},
	"compiler":      {"compiler/audited", "compiler/bridgeschema", "compiler/condition", "compiler/exceptions", "compiler/guardrail", "compiler/imports", "compiler/language", "compiler/layers", "compiler/layers/places", "compiler/plain", "compiler/powers", "compiler/programs", "compiler/secrets", "profiles", "profiles/egress", "profiles/hosts", "profiles/near", "profiles/paths", "profiles/powers", "schema", "schema/above", "profiles/jsontext"},
	"executors":     {"profiles"},
	"rings/kernel": {
		"executors", "profiles", "rings/kernel/attest", "rings/kernel/cgroup", "rings/kernel/conn", "rings/kernel/doors", "rings/kernel/egress", "rings/kernel/enclose/proc", "rings/kernel/filter", "rings/kernel/host", "rings/kernel/image", "rings/kernel/limit", "rings/kernel/order",
		"rings/kernel/spawn", "rings/kernel/view", "rings/kernel/watch",
	},
	"executors/js": {"executors", "executors/engines", "executors/js/start", "profiles"},

	"rings/kernel/egress": {
		"profiles", "profiles/egress", "profiles/egress/head", "profiles/egress/hello", "profiles/egress/names", "profiles/egress/request", "profiles/egress/socks",
		"rings/kernel/egress/answer", "rings/kernel/egress/budget", "rings/kernel/egress/fake", "rings/kernel/egress/forward", "rings/kernel/egress/gateway", "rings/kernel/egress/queries", "rings/kernel/egress/reach", "rings/kernel/egress/relay", "rings/kernel/listener", "rings/kernel/pace",
	},
	"rings/kernel/order":          {},
	"rings/kernel/spawn":          {"rings/kernel/order"},
	"rings/kernel/cgroup":         {},
	"rings/kernel/conn":           {},
	"rings/kernel/enclose":        {"rings/kernel/enclose/anyip", "rings/kernel/enclose/proc", "rings/kernel/enclose/reap", "rings/kernel/enclose/talk", "rings/kernel/order"},
	"rings/kernel/egress/fake":    {},
	"rings/kernel/egress/queries": {"profiles/egress/names"},
	"rings/kernel/doors":          {"profiles", "rings/kernel/egress", "rings/kernel/order"},
	"rings/kernel/attest":         {"executors", "profiles", "rings/kernel/host", "rings/kernel/limit", "rings/kernel/order"},
	"rings/kernel/limit":          {"executors", "rings/kernel/order"},

	"rings/kernel/listener":          {},
	"rings/kernel/pace":              {},
	"rings/kernel/egress/relay":      {},
	"rings/kernel/egress/reach":      {},
	"rings/kernel/egress/budget":     {"profiles"},
	"rings/kernel/egress/answer":     {"profiles", "profiles/egress", "profiles/egress/socks"},
	"rings/kernel/egress/egresstest": {"rings/kernel/enclose/anyip"},

	"rings/kernel/enclose/anyip": {},
	"rings/kernel/enclose/proc":  {"rings/kernel/enclose/talk"},
	"rings/kernel/enclose/reap":  {"rings/kernel/enclose/anyip", "rings/kernel/enclose/proc", "rings/kernel/enclose/talk", "rings/kernel/order"},
	"rings/kernel/enclose/talk":  {},

	"rings/kernel/image":  {},
	"rings/kernel/init":   {"rings/kernel/enclose"},
	"rings/kernel/view":   {"profiles", "profiles/paths", "rings/kernel/order", "profiles/jsontext"},
	"rings/kernel/watch":  {"rings/kernel/order", "profiles/jsontext"},
	"rings/kernel/host":   {"rings/kernel/order"},
	"rings/kernel/filter": {"rings/kernel/order"},

	"rings/kernel/egress/forward": {"profiles", "profiles/egress", "profiles/egress/head", "profiles/egress/request"},
	"rings/kernel/egress/gateway": {"profiles", "profiles/egress"},

	"profiles/egress":              {"profiles/egress/head", "profiles/egress/hello"},
	"profiles/egress/head":         {},
	"profiles/egress/hello":        {},
	"profiles/egress/request":      {"profiles/egress", "profiles/egress/head", "profiles/egress/hello", "profiles/egress/socks"},
	"profiles/egress/socks":        {},
	"profiles/egress/names":        {},
	"profiles/jsontext":            {},
	"profiles/hosts":               {"profiles/egress"},
	"profiles/modules":             {},
	"profiles/form":                {"profiles/paths"},
	"profiles/redirect":            {"profiles/paths", "profiles/words"},
	"profiles/difference":          {"profiles", "profiles/difference/files", "profiles/difference/names", "profiles/difference/reach", "profiles/difference/said", "profiles/jsontext", "profiles/modules", "profiles/paths"},
	"profiles/difference/files":    {"profiles", "profiles/paths"},
	"profiles/difference/said":     {"profiles/jsontext"},
	"profiles/difference/names":    {"profiles", "profiles/difference/reach", "profiles/modules"},
	"profiles/difference/reach":    {"profiles", "profiles/egress", "profiles/powers"},
	"profiles/near":                {},
	"profiles/paths":               {},
	"profiles/words":               {},
	"profiles/launch":              {"profiles/launch/build", "profiles/launch/engine", "profiles/launch/interpreters", "profiles/launch/running", "profiles/launch/tools", "profiles/words"},
	"profiles/launch/build":        {"profiles/launch/engine", "profiles/launch/gitkey", "profiles/words"},
	"profiles/launch/engine":       {"profiles/words"},
	"profiles/launch/interpreters": {"profiles/launch/awk", "profiles/launch/engine", "profiles/launch/inline", "profiles/launch/sed", "profiles/words"},
	"profiles/launch/running":      {"profiles/launch/engine", "profiles/words"},
	"profiles/launch/tools":        {"profiles/launch/engine", "profiles/words"},
	"profiles/launch/awk":          {},
	"profiles/launch/gitkey":       {},
	"profiles/launch/inline":       {},
	"profiles/launch/sed":          {},
	"profiles/variables":           {"profiles/words"},
	"profiles/command":             {"profiles/jsontext", "profiles/words", "profiles/launch", "profiles/launch/gitkey", "profiles/variables"},
	"profiles/argschema":           {"profiles/jsontext"},
	"profiles/excepted":            {"profiles/hosts", "profiles/modules"},
	"profiles/rule":                {},
	"profiles/guest":               {"profiles/form", "profiles/jsontext", "profiles/paths", "profiles/rule"},
	"profiles/verdict":             {},
	"profiles/expiry":              {"profiles"},
	"profiles/sound":               {"profiles", "profiles/expiry"},
	"profiles/grants":              {"profiles/argschema", "profiles/hosts", "profiles/jsontext", "profiles/modules"},
	"profiles/action":              {"profiles/egress/request", "profiles/jsontext"},
	"compiler/bridgeschema":        {"profiles", "profiles/near", "profiles/jsontext"},
	"compiler/plain":               {},
	"compiler/audited":             {"profiles"},
	"compiler/least":               {"compiler/imports", "profiles", "profiles/egress", "profiles/hosts"},
	"compiler/powers":              {"schema", "profiles", "profiles/powers"},
	"profiles/powers":              {"profiles"},
	"compiler/enforcement":         {"profiles"},
	"compiler/language":            {},
	"compiler/layers":              {"compiler/exceptions", "compiler/layers/chain", "compiler/layers/folders", "compiler/layers/places", "compiler/layers/reach", "compiler/plain", "profiles/egress", "profiles/hosts", "profiles/modules", "profiles/near", "profiles/paths", "profiles/variables", "profiles/words", "schema", "schema/above", "profiles/jsontext"},
	"compiler/headroom":            {"compiler/layers/chain", "compiler/layers/fields", "compiler/layers/places", "compiler/layers/reach", "compiler/plain", "profiles", "profiles/difference", "profiles/egress", "profiles/hosts", "profiles/modules", "profiles/paths", "schema", "profiles/jsontext"},
	"compiler/layers/chain":        {"compiler/layers/places", "profiles/near", "schema"},
	"compiler/layers/places":       {"schema"},
	"compiler/layers/fields":       {},
	"compiler/layers/reach":        {"profiles/egress", "profiles/hosts", "schema"},
	"compiler/layers/folders":      {"profiles/paths"},
	"compiler/exceptions":          {"compiler/layers/places", "compiler/says", "profiles/egress", "profiles/modules", "schema", "profiles/jsontext"},
	"compiler/asked":               {"compiler/layers/chain", "compiler/layers/places", "compiler/says", "profiles", "profiles/egress", "profiles/paths", "schema"},
	"compiler/says":                {"profiles/egress", "profiles/hosts", "profiles/modules", "profiles/paths", "schema"},
	"compiler/imports":             {"profiles", "profiles/modules", "profiles/near", "profiles/paths"},
	"compiler/programs":            {"profiles", "profiles/command", "profiles/near", "profiles/words", "profiles/jsontext"},
	"compiler/secrets":             {},
	"compiler/condition":           {"compiler/rego", "profiles", "profiles/jsontext"},
	"compiler/guardrail":           {"compiler/layers/places", "compiler/rego", "profiles", "profiles/near", "schema", "profiles/jsontext"},
	"compiler/rego":                {},

	"executors/shell/refusal":   {"profiles"},
	"executors/executorstest":   {"executors", "profiles"},
	"executors/pool":            {},
	"executors/conn":            {},
	"executors/engines":         {"executors", "executors/js/engine/kept"},
	"executors/streams":         {"executors"},
	"executors/js/engine":       {"profiles", "executors/js/engine/meter", "executors/js/engine/value", "executors/js/engine/snapshot", "executors/js/engine/kept", "executors/js/engine/names", "executors/js/engine/prelude", "executors/js/engine/trace"},
	"executors/js/engine/meter": {},
	"executors/js/engine/value": {},

	"executors/js/engine/snapshot": {},
	"executors/js/engine/kept":     {},
	"executors/js/engine/names":    {},
	"executors/js/engine/prelude":  {},
	"executors/js/engine/trace":    {},
	"executors/js/start":           {"executors", "profiles"},
	"executors/js/guest":           {"executors", "executors/conn", "executors/js/engine", "executors/js/start", "executors/seal", "profiles", "profiles/near", "profiles/jsontext"},
	"executors/seal":               {},

	"executors/python":           {"executors", "executors/pool", "executors/python/guest", "executors/python/start", "executors/python/translate", "executors/streams", "profiles"},
	"executors/python/guest":     {},
	"executors/python/start":     {"profiles", "profiles/modules", "profiles/hosts"},
	"executors/python/translate": {"executors", "executors/python/start", "profiles"},
	"executors/python/wasm": {
		"executors", "executors/engines", "executors/pool", "executors/python/start", "executors/python/translate",
		"executors/python/wasm/place", "executors/python/wasm/start", "profiles",
	},
	"executors/python/wasm/place":  {},
	"executors/python/wasm/start":  {"executors", "executors/python/start"},
	"executors/python/wasm/files":  {},
	"executors/python/wasm/engine": {"executors/js/engine/kept", "executors/python/wasm/files", "executors/python/wasm/place"},
	"executors/python/wasm/guest": {
		"executors", "executors/conn", "executors/python/guest", "executors/python/start", "executors/python/wasm/engine", "executors/python/wasm/place",
		"executors/python/wasm/start", "executors/seal", "profiles",
	},

	"executors/python/environment": {
		"executors", "executors/python/environment/installed", "executors/python/environment/require", "executors/python/environment/wheels",
		"executors/python/start", "profiles", "profiles/modules", "profiles/paths",
	},
	"executors/python/environment/installed": {"executors/python/environment/require"},
	"executors/python/environment/require":   {},
	"executors/python/environment/wheels":    {},

	"executors/shell/static":    {"profiles/words"},
	"executors/shell/alike":     {"executors/shell/static", "executors/shell/steps"},
	"executors/shell/script":    {"executors/shell/static", "profiles", "profiles/words"},
	"executors/shell/preflight": {"executors/shell/script", "executors/shell/static", "profiles", "profiles/command", "profiles/launch", "profiles/words"},
	"executors/shell":           {"executors", "executors/pool", "executors/shell/refusal", "executors/shell/start", "executors/streams", "profiles"},
	"executors/shell/start":     {"executors", "profiles"},
	"executors/shell/guest":     {"executors", "executors/conn", "executors/shell/preflight", "executors/shell/refusal", "executors/shell/runner", "executors/shell/script", "executors/shell/start", "profiles", "profiles/words", "profiles/jsontext"},
	"executors/shell/builtin":   {},
	"executors/shell/steps":     {},
	"executors/shell/runner":    {"executors/shell/alike", "executors/shell/builtin", "executors/shell/script", "executors/shell/steps", "profiles", "profiles/command", "profiles/words"},
	"executors/shell/dry":       {"executors/shell/runner", "executors/shell/script", "profiles", "profiles/command", "profiles/words"},
	"executors/shell/verdict":   {"executors/shell/dry", "executors/shell/preflight", "executors/shell/script", "profiles", "profiles/command"},

	"rings/interpreter": {
		"executors", "profiles", "rings/interpreter/budget", "rings/interpreter/feed", "rings/interpreter/life", "rings/interpreter/pause",
		"rings/interpreter/port", "rings/interpreter/rules", "rings/interpreter/shape", "rings/interpreter/touched",
	},
	"rings/interpreter/life": {
		"executors", "profiles", "rings/interpreter/budget", "rings/interpreter/calls", "rings/interpreter/ends", "rings/interpreter/feed",
		"rings/interpreter/keep", "rings/interpreter/pause", "rings/interpreter/port", "rings/interpreter/rules", "rings/interpreter/shape", "rings/interpreter/watch",
	},
	"rings/interpreter/port": {"executors", "profiles", "rings/interpreter/pause", "rings/interpreter/rules", "rings/interpreter/shape", "rings/interpreter/touched"},
	"rings/interpreter/rules": {
		"profiles", "profiles/jsontext", "profiles/near", "profiles/egress", "profiles/hosts", "profiles/powers", "profiles/words", "rings/interpreter/budget", "rings/interpreter/pause", "rings/interpreter/shape", "rings/interpreter/touched",
	},
	"rings/interpreter/ends":    {"executors", "profiles", "profiles/powers", "rings/interpreter/pause", "rings/interpreter/port", "rings/interpreter/rules", "rings/interpreter/shape"},
	"rings/interpreter/keep":    {"profiles", "rings/interpreter/port"},
	"rings/interpreter/calls":   {"executors", "profiles", "profiles/powers", "rings/interpreter/budget", "rings/interpreter/pause", "rings/interpreter/port", "rings/interpreter/rules", "rings/interpreter/shape"},
	"rings/interpreter/feed":    {"executors", "profiles"},
	"rings/interpreter/budget":  {"profiles", "rings/interpreter/shape"},
	"rings/interpreter/pause":   {"executors", "profiles", "rings/interpreter/budget", "rings/interpreter/touched", "profiles/jsontext"},
	"rings/interpreter/touched": {"profiles", "profiles/powers"},
	"rings/interpreter/watch":   {"profiles", "profiles/powers", "rings/interpreter/port", "rings/interpreter/rules", "rings/interpreter/touched"},
	"rings/interpreter/shape":   {"profiles/jsontext"},

	"cmd/ringd/internal/audit":           {"profiles", "cmd/ringd/internal/disk", "cmd/ringd/internal/keypem"},
	"cmd/ringd/internal/audit/audittest": {"cmd/ringd/internal/audit", "cmd/ringd/internal/cli"},

	"cmd/ringd/internal/disk":   {},
	"cmd/ringd/internal/keypem": {},
	"cmd/ringd/internal/seal":   {"cmd/ringd/internal/disk"},
	"cmd/ringd/internal/store": {
		"profiles", "cmd/ringd/internal/store/engine", "cmd/ringd/internal/store/files", "cmd/ringd/internal/store/format",
	},
	"cmd/ringd/internal/store/engine": {"cmd/ringd/internal/store/files", "cmd/ringd/internal/store/format", "cmd/ringd/internal/disk"},
	"cmd/ringd/internal/store/files":  {"cmd/ringd/internal/disk"},
	"cmd/ringd/internal/store/format": {},
	"cmd/ringd/internal/child":        {"schema", "compiler", "compiler/asked", "compiler/lint", "compiler/guardrail", "compiler/headroom", "profiles", "cmd/ringd/internal/confine"},
	"cmd/ringd/internal/confine":      {},
	"cmd/ringd/internal/lasting":      {"cmd/ringd/internal/confine"},
	"cmd/ringd/internal/script":       {"executors/shell/start", "profiles", "cmd/ringd/internal/confine", "cmd/ringd/internal/lasting"},
	"cmd/ringd/internal/config":       {"compiler/plain", "schema", "profiles/egress"},
	"cmd/ringd/internal/answer": {
		"compiler/asked", "profiles", "profiles/powers", "cmd/ringd/internal/cli", "cmd/ringd/internal/decide", "cmd/ringd/internal/render",
		"cmd/ringd/internal/script", "cmd/ringd/internal/sources",
	},
	"cmd/ringd/internal/diff": {
		"compiler/headroom", "profiles", "profiles/difference", "schema", "cmd/ringd/internal/cli", "cmd/ringd/internal/decide", "cmd/ringd/internal/diff/page",
		"cmd/ringd/internal/render", "cmd/ringd/internal/replay", "cmd/ringd/internal/sources",
	},
	"cmd/ringd/internal/replay": {
		"profiles", "profiles/egress", "rings/interpreter/shape", "cmd/ringd/internal/audit", "cmd/ringd/internal/decide", "cmd/ringd/internal/diff/page",
	},
	"cmd/ringd/internal/diff/page": {"profiles/difference"},
	"cmd/ringd/internal/suggest": {
		"compiler/least", "profiles", "cmd/ringd/internal/answer", "cmd/ringd/internal/audit", "cmd/ringd/internal/auditcmd",
		"cmd/ringd/internal/cli", "cmd/ringd/internal/render", "cmd/ringd/internal/sources",
	},
	"cmd/ringd/internal/exceptions": {
		"compiler/exceptions", "profiles", "schema", "cmd/ringd/internal/audit", "cmd/ringd/internal/auditcmd",
		"cmd/ringd/internal/cli", "cmd/ringd/internal/config", "cmd/ringd/internal/render", "cmd/ringd/internal/sources",
	},
	"cmd/ringd/internal/begin": {
		"cmd/ringd/internal/inert", "schema", "schema/adopt", "schema/emit", "schema/layout", "cmd/ringd/internal/cli", "cmd/ringd/internal/render", "cmd/ringd/internal/sources", "cmd/ringd/internal/disk",
	},
	"cmd/ringd/internal/auditcmd": {
		"profiles", "profiles/near", "cmd/ringd/internal/audit", "cmd/ringd/internal/cli", "cmd/ringd/internal/config", "cmd/ringd/internal/render",
		"cmd/ringd/internal/sources", "cmd/ringd/internal/store", "schema/wire",
	},
	"cmd/ringd/internal/pipetest": {},
	"cmd/ringd/internal/provider": {"executors/js/engine/value", "rings/interpreter"},
	"cmd/ringd/internal/shell":    {"executors", "executors/shell/refusal", "profiles", "rings/interpreter"},
	"cmd/ringd/internal/fetch":    {"executors/js/engine/value", "profiles", "profiles/egress", "profiles/egress/request", "rings/interpreter", "rings/kernel/egress", "rings/kernel/egress/forward"},
	"cmd/ringd/internal/notify":   {"cmd/ringd/internal/provider"},
	"cmd/ringd/internal/signing": {
		"cmd/ringd/internal/inert", "profiles", "profiles/difference", "schema/wire", "cmd/ringd/internal/cli", "cmd/ringd/internal/config", "cmd/ringd/internal/render",
		"cmd/ringd/internal/sources", "cmd/ringd/internal/syncer", "cmd/ringd/internal/trust", "cmd/ringd/internal/daemon/lockdown", "cmd/ringd/internal/daemon/orders", "cmd/ringd/internal/disk",
	},
	"cmd/ringd/internal/trust":             {"profiles", "profiles/jsontext", "profiles/sound", "schema", "cmd/ringd/internal/disk", "cmd/ringd/internal/keypem"},
	"cmd/ringd/internal/syncer":            {"schema"},
	"cmd/ringd/internal/decide":            {"compiler/condition", "compiler/guardrail", "profiles", "cmd/ringd/internal/confine", "cmd/ringd/internal/lasting"},
	"cmd/ringd/internal/sources":           {"schema", "cmd/ringd/internal/syncer"},
	"cmd/ringd/internal/inert":             {},
	"cmd/ringd/internal/render":            {"cmd/ringd/internal/inert", "schema", "schema/wire", "profiles", "executors", "cmd/ringd/internal/audit"},
	"cmd/ringd/internal/packages":          {"cmd/ringd/internal/render", "schema/wire", "executors", "executors/python", "executors/python/environment", "profiles", "schema"},
	"cmd/ringd/internal/doctor":            {"profiles", "executors", "rings/kernel/host", "rings/kernel/order", "cmd/ringd/internal/render"},
	"cmd/ringd/internal/ask":               {"cmd/ringd/internal/inert", "cmd/ringd/internal/render"},
	"cmd/ringd/internal/ask/asktest":       {},
	"cmd/ringd/internal/render/rendertest": {"profiles"},
	"cmd/ringd/internal/request":           {"executors/js/engine/value", "profiles", "schema/wire", "cmd/ringd/internal/sources"},
	"cmd/ringd/internal/cli": {
		"cmd/ringd/internal/inert", "profiles", "profiles/near", "executors", "schema/wire", "schema/client",
		"cmd/ringd/internal/config", "cmd/ringd/internal/render", "cmd/ringd/internal/sources",
	},
	"cmd/ringd/internal/attend": {
		"executors", "profiles", "schema/wire", "cmd/ringd/internal/ask", "cmd/ringd/internal/cli",
		"cmd/ringd/internal/daemon", "cmd/ringd/internal/daemon/approvals", "cmd/ringd/internal/render",
	},
	"cmd/ringd/internal/clients": {
		"executors", "executors/js/engine/value", "schema/wire", "schema/client", "cmd/ringd/internal/ask", "cmd/ringd/internal/auditcmd", "cmd/ringd/internal/cli",
		"cmd/ringd/internal/daemon", "cmd/ringd/internal/daemon/approvals", "cmd/ringd/internal/daemon/lockdown", "cmd/ringd/internal/daemon/show", "cmd/ringd/internal/render", "cmd/ringd/internal/store",
	},
	"cmd/ringd/internal/daemon": {
		"cmd/ringd/internal/trust", "schema", "schema/wire", "profiles", "executors", "rings/interpreter",
		"cmd/ringd/internal/audit", "cmd/ringd/internal/store", "cmd/ringd/internal/daemon/policy",
		"cmd/ringd/internal/syncer", "cmd/ringd/internal/daemon/metrics", "cmd/ringd/internal/daemon/records",
		"cmd/ringd/internal/daemon/show", "cmd/ringd/internal/daemon/approvals", "cmd/ringd/internal/daemon/outbox",
		"cmd/ringd/internal/daemon/pauses", "cmd/ringd/internal/daemon/turns", "cmd/ringd/internal/daemon/live", "cmd/ringd/internal/daemon/lockdown", "cmd/ringd/internal/daemon/requests", "rings/kernel/pace",
	},
	"cmd/ringd/internal/canary": {"schema/wire", "profiles", "executors", "cmd/ringd/internal/audit"},
	"cmd/ringd/internal/daemon/orders": {
		"cmd/ringd/internal/audit", "cmd/ringd/internal/daemon/lockdown", "cmd/ringd/internal/syncer", "cmd/ringd/internal/trust",
		"profiles", "profiles/jsontext", "schema/wire",
	},
	"cmd/ringd/internal/daemon/lockdown": {"schema/wire", "profiles", "cmd/ringd/internal/audit", "cmd/ringd/internal/daemon/metrics", "cmd/ringd/internal/disk"},
	"cmd/ringd/internal/daemon/shadow": {
		"profiles", "profiles/egress", "profiles/egress/request", "schema", "schema/wire", "cmd/ringd/internal/audit", "cmd/ringd/internal/daemon/show", "cmd/ringd/internal/syncer",
	},
	"cmd/ringd/internal/daemon/turns": {},
	"cmd/ringd/internal/daemon/live":  {"rings/interpreter"},
	"cmd/ringd/internal/daemon/approvals": {
		"schema/wire", "cmd/ringd/internal/audit", "cmd/ringd/internal/store", "cmd/ringd/internal/daemon/metrics",
		"cmd/ringd/internal/daemon/show", "cmd/ringd/internal/daemon/vouch", "rings/interpreter", "profiles/jsontext",
	},
	"cmd/ringd/internal/daemon/requests": {"profiles", "schema/wire", "cmd/ringd/internal/daemon/policy"},
	"cmd/ringd/internal/daemon/vouch":    {"profiles", "cmd/ringd/internal/seal", "cmd/ringd/internal/store"},
	"cmd/ringd/internal/daemon/policy": {
		"compiler/exceptions", "profiles/expiry", "cmd/ringd/internal/trust", "schema", "schema/wire", "profiles", "rings/interpreter", "cmd/ringd/internal/audit", "cmd/ringd/internal/child",
		"cmd/ringd/internal/store", "cmd/ringd/internal/syncer", "cmd/ringd/internal/daemon/metrics",
		"cmd/ringd/internal/daemon/lockdown", "cmd/ringd/internal/daemon/records", "cmd/ringd/internal/daemon/show",
	},
	"cmd/ringd/internal/daemon/outbox": {
		"cmd/ringd/internal/notify", "cmd/ringd/internal/store", "cmd/ringd/internal/daemon/metrics",
	},
	"cmd/ringd/internal/daemon/pauses": {
		"profiles", "profiles/hosts", "profiles/powers", "schema/wire", "executors", "rings/interpreter", "cmd/ringd/internal/seal", "cmd/ringd/internal/store",
		"cmd/ringd/internal/daemon/metrics", "cmd/ringd/internal/daemon/show", "cmd/ringd/internal/daemon/vouch", "profiles/jsontext",
	},
	"cmd/ringd/internal/daemon/records": {
		"executors", "profiles", "cmd/ringd/internal/daemon/vouch", "rings/interpreter", "rings/kernel/egress", "rings/kernel/pace", "cmd/ringd/internal/audit", "cmd/ringd/internal/store", "cmd/ringd/internal/daemon/metrics",
	},
	"cmd/ringd/internal/daemon/show":    {"schema", "schema/wire", "profiles", "profiles/powers", "executors", "rings/interpreter", "cmd/ringd/internal/store"},
	"cmd/ringd/internal/daemon/metrics": {"profiles", "profiles/egress"},
	"cmd/ringd/internal/daemon/network": {"profiles", "profiles/egress", "cmd/ringd/internal/config", "rings/interpreter", "rings/kernel/egress", "rings/kernel/host", "schema/wire", "cmd/ringd/internal/daemon/metrics", "cmd/ringd/internal/daemon/records", "cmd/ringd/internal/fetch"},
	"cmd/ringd/internal/daemon/daemontest": {
		"cmd/ringd/internal/trust", "schema", "profiles", "executors", "rings/interpreter", "cmd/ringd/internal/audit", "cmd/ringd/internal/store",
		"cmd/ringd/internal/daemon", "cmd/ringd/internal/daemon/metrics", "cmd/ringd/internal/daemon/records",
		"cmd/ringd/internal/daemon/approvals", "cmd/ringd/internal/daemon/lockdown", "cmd/ringd/internal/daemon/pauses", "cmd/ringd/internal/seal",
	},
	"cmd/ringd/internal/api": {
		"cmd/ringd/internal/inert", "schema/wire", "profiles", "cmd/ringd/internal/daemon", "cmd/ringd/internal/daemon/approvals", "cmd/ringd/internal/daemon/lockdown", "cmd/ringd/internal/store", "cmd/ringd/internal/api/dts",
		"cmd/ringd/internal/api/port", "cmd/ringd/internal/api/tokens", "rings/kernel/listener", "profiles/jsontext",
	},
	"cmd/ringd/internal/api/porttest": {},
	"cmd/ringd/internal/api/port":     {},
	"cmd/ringd/internal/api/tokens":   {},
	"cmd/ringd/internal/door": {
		"cmd/ringd/internal/api", "cmd/ringd/internal/api/port", "cmd/ringd/internal/api/tokens", "cmd/ringd/internal/audit",
		"cmd/ringd/internal/config", "cmd/ringd/internal/daemon", "cmd/ringd/internal/daemon/lockdown", "cmd/ringd/internal/daemon/metrics",
	},
	"cmd/ringd/internal/api/dts":     {"profiles"},
	"cmd/ringd/internal/api/openapi": {"schema/wire", "profiles", "cmd/ringd/internal/api"},
	"cmd/ringd":                      {"..."},
}

// owners says which packages, or single files, may import a dependency; a path
// covers the paths below it. What is not listed and not in the standard library fails.
var owners = map[string][]string{
	"cuelang.org/go":                        {"schema"},
	"github.com/tetratelabs/wazero":         {"executors/js/engine", "executors/js/engine/meter", "executors/python/wasm/engine", "executors/python/wasm/files"},
	"github.com/klauspost/compress":         {"executors/js/engine/snapshot"},
	"github.com/evanw/esbuild":              {"executors/js/guest"},
	"github.com/gowebpki/jcs":               {"profiles"},
	"github.com/santhosh-tekuri/jsonschema": {"schema", "compiler", "rings/interpreter"},
	"github.com/fsnotify/fsnotify":          {"cmd/ringd/internal/syncer"},
	"modernc.org/sqlite":                    {"cmd/ringd/internal/store"},
	"github.com/prometheus/client_golang":   {"cmd/ringd/internal/api", "cmd/ringd/internal/daemon"},
	"github.com/invopop/jsonschema":         {"cmd/ringd/internal/api/openapi"},
	"github.com/spf13/cobra":                {"cmd/ringd"},
	"github.com/spf13/pflag":                {"cmd/ringd/internal/cli"},
	"github.com/coreos/go-systemd":          {"cmd/ringd/systemd.go"},
	"github.com/mattn/go-isatty":            {"cmd/ringd/internal/cli"},
	"github.com/goccy/go-yaml":              {"cmd/ringd/internal/config"},
	"github.com/go-sourcemap/sourcemap":     {"executors/js/guest"},
	"github.com/rogpeppe/go-internal":       {"cmd/ringd/internal/policycmd"},
	"github.com/google/go-cmp":              {"executors/executorstest"},
	"github.com/secure-systems-lab":         {"cmd/ringd/internal/trust"},
	"github.com/standard-webhooks":          {"cmd/ringd/internal/notify"},
	"go.yaml.in/yaml/v3":                    {"schema"},
	"github.com/pelletier/go-toml":          {"schema/adopt"},
	"golang.org/x/net/dns/dnsmessage":       {"profiles/egress/names"},
	"golang.org/x/crypto":                   {"cmd/ringd/internal/seal"},
	"golang.org/x/net/publicsuffix":         {"compiler"},
	"golang.org/x/net/idna":                 {"profiles/egress"},
	"code.dny.dev/ssrf":                     {"profiles/egress"},
	"github.com/nlnwa/whatwg-url":           {"profiles/egress"},
	"golang.org/x/time":                     {"cmd/ringd/internal/api/tokens", "rings/kernel/pace"},
	"golang.org/x/sys":                      {"rings/kernel", "executors/conn", "executors/js/engine", "executors/seal", "executors/shell/guest", "cmd"},
	"github.com/landlock-lsm/go-landlock":   {"rings/kernel"},
	"mvdan.cc/sh":                           {"executors/shell"},
	"github.com/open-policy-agent/opa":      {"compiler"},
	"os/exec":                               {"rings/kernel", "cmd", "executors/shell/guest"},
	"net":                                   {"rings/kernel", "cmd", "schema/client"},
	"unsafe":                                {"executors/js/engine/memory_linux.go", "rings/kernel/enclose/raw_linux.go", "executors/seal/filter_linux.go", "cmd/ringd/internal/api/peer_linux.go", "cmd/ringd/internal/config/secret_windows.go", "rings/kernel/watch/notif_linux.go"},
	"plugin":                                {},
	"net/netip":                             {"profiles", "compiler", "schema", "rings/kernel", "cmd"},
	"net/url":                               {"profiles", "compiler", "schema", "rings/kernel", "cmd"},
}

// pure lists packages that know no file, network, clock or chance.
var pure = []string{
	"schema/layout",
	"compiler/lint",
	"compiler/cases",
	"compiler",
	"compiler/asked",
	"compiler/bridgeschema",
	"compiler/condition",
	"compiler/exceptions",
	"compiler/headroom",
	"compiler/imports",
	"compiler/audited",
	"compiler/least",
	"compiler/plain",
	"compiler/powers",
	"compiler/programs",
	"compiler/says",
	"compiler/secrets",
	"executors/js/engine/meter",
	"executors/js/engine/snapshot",
	"executors/js/engine/trace",
	"executors/js/engine/value",
	"executors/python/translate",
	"executors/shell/alike",
	"executors/shell/preflight",
	"executors/shell/script",
	"executors/shell/static",
	"profiles",
	"profiles/action",
	"profiles/argschema",
	"profiles/command",
	"profiles/difference",
	"profiles/difference/files",
	"profiles/difference/names",
	"profiles/difference/reach",
	"profiles/difference/said",
	"profiles/egress",
	"profiles/egress/head",
	"profiles/egress/hello",
	"profiles/egress/names",
	"profiles/egress/request",
	"profiles/egress/socks",
	"profiles/excepted",
	"profiles/expiry",
	"profiles/form",
	"profiles/grants",
	"profiles/hosts",
	"profiles/jsontext",
	"profiles/launch",
	"profiles/launch/awk",
	"profiles/launch/build",
	"profiles/launch/engine",
	"profiles/launch/gitkey",
	"profiles/launch/inline",
	"profiles/launch/interpreters",
	"profiles/launch/running",
	"profiles/launch/sed",
	"profiles/launch/tools",
	"profiles/modules",
	"profiles/paths",
	"profiles/powers",
	"profiles/redirect",
	"profiles/variables",
	"profiles/guest",
	"profiles/rule",
	"profiles/sound",
	"profiles/verdict",
	"profiles/words",
	"schema",
	"schema/adopt",
	"schema/emit",
	"schema/finding",
	"schema/prose",
	"schema/scalar",
	"schema/shape",
	"schema/syntax",
}

// impure is what a pure package may not import.
var impure = []string{"os", "net", "net/http", "io/ioutil", "math/rand", "crypto/rand", "syscall", "os/exec", "log", "log/slog"}

// guestHalf lists packages that run inside a guest. They may not reach rings
// or cmd, not even through another package.
var guestHalf = []string{"executors/conn", "executors/seal", "executors/python/wasm/guest", "executors/python/wasm/engine", "executors/python/wasm/files", "executors/js/guest", "executors/js/engine", "executors/shell/guest"}

// calls says where a call that hides a dependency is allowed: a package, a
// file, or a path with /... for everything below it.
var calls = map[string][]string{
	"panic":              {},
	"init":               {},
	"go":                 {"cmd/ringd/internal/confine/watch.go", "cmd/ringd/internal/daemon", "cmd/ringd/internal/syncer", "cmd/ringd/internal/api", "cmd/ringd/internal/audit", "cmd/ringd/internal/store", "rings/kernel/egress", "rings/kernel/egress/egresstest", "rings/kernel/enclose/reap"},
	"context.Background": {"cmd/ringd", "rings/kernel/egress"}, // what serves guests has no caller
	"context.TODO":       {},
	"time.Now":           {"cmd/ringd"},
	"time.Since":         {"cmd/ringd"},
	"time.Until":         {"cmd/ringd"},
	"os.Getenv":          {"cmd/ringd/internal/config", "rings/kernel/egress/egresstest"},
	"os.LookupEnv":       {"cmd/ringd/internal/config"},
	"os.Environ":         {"cmd/ringd/internal/config", "rings/kernel/egress/egresstest"},
	"os.Exit":            {"cmd/ringd/main.go", "rings/kernel/init"},
	"log.Fatal":          {},
	"log.Fatalf":         {},
	"log.Fatalln":        {},
	"BestEffort":         {},
	"recover":            {"cmd/ringd/internal/daemon", "cmd/ringd/internal/api", "cmd/ringd/internal/child", "executors/js/engine", "executors/js/guest"},
}

// sinks says where cmd may reach a stream that people read, past the edge that makes its
// text inert (cmd/ringd/internal/inert): a package or a file. A row is a selector, an
// import, a method (".SetOut") or the begin of a path ("/dev/tty").
var sinks = map[string][]string{
	"os.Stdout":     {"cmd/ringd/main.go"},
	"os.Stderr":     {"cmd/ringd/main.go"},
	"os.NewFile":    {},
	"/dev/tty":      {"cmd/ringd/internal/ask/ask.go"},
	"/dev/std":      {},
	"/dev/fd":       {},
	"/dev/pts":      {},
	"/dev/console":  {},
	"/proc/self/fd": {},

	"syscall.Write":                {},
	"syscall.Stdout":               {},
	"syscall.Stderr":               {},
	"syscall.Syscall":              {},
	"syscall.RawSyscall":           {},
	"golang.org/x/sys/unix.Write":  {},
	"golang.org/x/sys/unix.Writev": {},
	"golang.org/x/sys/unix.Stdout": {},
	"golang.org/x/sys/unix.Stderr": {},

	"fmt.Print":                       {},
	"fmt.Printf":                      {},
	"fmt.Println":                     {},
	"print":                           {},
	"println":                         {},
	"log":                             {},
	"log/slog.Default":                {},
	"log/slog.Debug":                  {},
	"log/slog.Info":                   {},
	"log/slog.Warn":                   {},
	"log/slog.Error":                  {},
	"log/slog.Log":                    {},
	"log/slog.LogAttrs":               {},
	"log/slog.NewJSONHandler":         {},
	"log/slog.NewTextHandler":         {"cmd/ringd/cmd_serve.go", "cmd/ringd/internal/daemon/daemontest"},
	"runtime/debug.PrintStack":        {},
	"github.com/spf13/cobra.CheckErr": {},
	".SetOut":                         {"cmd/ringd/main.go"},
	".SetErr":                         {"cmd/ringd/main.go"},
	".SetOutput":                      {},
	"net/http.ResponseWriter":         {"cmd/ringd/internal/api/server.go", "cmd/ringd/internal/api/bearer.go"},
	".ResponseWriter":                 {"cmd/ringd/internal/api/server.go", "cmd/ringd/internal/api/bearer.go"},
	".Hijack":                         {"cmd/ringd/internal/api/server.go"},
	module + "/cmd/ringd/internal/inert.NewEdge": {"cmd/ringd/internal/ask/ask.go", "cmd/ringd/internal/cli/cli.go", "cmd/ringd/internal/api/server.go"},
	module + "/cmd/ringd/internal/inert.Bytes": { // what a program reads, to the byte
		"cmd/ringd/internal/begin/import.go", "cmd/ringd/internal/policycmd/compile.go", "cmd/ringd/internal/policycmd/fmt.go", "cmd/ringd/internal/render/run.go",
	},
}

// sizes are the limits of house style. Test files are exempt. Neither a file nor
// a package has a cap: a cap is paid for in names and walls.
var sizes = limits{function: 100, methods: 5}

// skipped names folders that hold no code of this module.
var skipped = []string{"testdata", "node_modules", "docs", ".git", ".cache", "bin"}

func repository(t *testing.T) tree {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if p != root && (slices.Contains(skipped, name) || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return parseTree(t, files)
}

func report(t *testing.T, got []string) {
	t.Helper()
	for _, v := range got {
		t.Error(v)
	}
}

func TestLayers(t *testing.T) {
	tr := repository(t)
	report(t, checkLayers(tr, layers))
	report(t, checkReach(tr, guestHalf, []string{"rings", "cmd"}))
}

func TestOwners(t *testing.T) {
	tr := repository(t)
	report(t, checkOwners(tr, owners))
	report(t, checkPure(tr, pure, impure))
}

func TestCalls(t *testing.T) {
	tr := repository(t)
	report(t, checkCalls(tr, calls))
	report(t, checkContexts(tr))
	report(t, checkSinks(tr, "cmd", sinks))
}

func TestSizes(t *testing.T) { report(t, checkSizes(repository(t), sizes)) }

// TestRowsName keeps the table from naming packages that went away.
func TestRowsName(t *testing.T) {
	tr := repository(t)
	for pkg := range layers {
		if _, ok := tr.pkgs[pkg]; !ok {
			t.Errorf("layers: %s: no such package", pkg)
		}
	}
}

// The tables are only worth something if they catch a breach: each fixture
// breaks one rule and must be found by exactly one line.
func TestTablesCatch(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		check func(tree) []string
		want  string // "" means nothing is found
	}{
		{"unlisted package", map[string]string{"helpers/a.go": "package helpers"}, withLayers, "helpers/: not in the layers table"},
		{"pure imports a ring", map[string]string{"profiles/a.go": `package profiles; import _ "github.com/ringd/ringd/rings/kernel"`}, withLayers, "profiles/a.go:1: imports rings/kernel"},
		{"executor imports policy", map[string]string{"executors/js/a.go": `package js; import _ "github.com/ringd/ringd/schema"`}, withLayers, "executors/js/a.go:1: imports schema"},
		{"ring imports ring", map[string]string{"rings/kernel/a.go": `package kernel; import _ "github.com/ringd/ringd/rings/interpreter"`}, withLayers, "rings/kernel/a.go:1: imports rings/interpreter"},
		{"allowed import", map[string]string{"compiler/a.go": `package compiler; import _ "github.com/ringd/ringd/schema"`}, withLayers, ""},
		{"guest reaches cmd through another", map[string]string{
			"executors/js/guest/a.go":  `package guest; import _ "github.com/ringd/ringd/executors/js/engine"`,
			"executors/js/engine/a.go": `package engine; import _ "github.com/ringd/ringd/rings/kernel"`,
			"rings/kernel/a.go":        "package kernel",
		}, func(tr tree) []string {
			return checkReach(tr, []string{"executors/js/guest"}, []string{"rings", "cmd"})
		},
			"executors/js/guest: reaches rings/kernel"},
		{"wazero outside its owner", map[string]string{"profiles/a.go": `package profiles; import _ "github.com/tetratelabs/wazero"`}, withOwners, "profiles/a.go:1: github.com/tetratelabs/wazero belongs to"},
		{"wazero subpackage outside its owner", map[string]string{"cmd/ringd/a.go": `package main; import _ "github.com/tetratelabs/wazero/api"`}, withOwners, "belongs to"},
		{"exec in an executor", map[string]string{"executors/js/a.go": `package js; import _ "os/exec"`}, withOwners, "executors/js/a.go:1: os/exec belongs to"},
		{"net in compiler", map[string]string{"compiler/a.go": `package compiler; import _ "net/http"`}, withOwners, "compiler/a.go:1: net/http belongs to"},
		{"unsafe in another file of its owner", map[string]string{"executors/js/engine/a.go": `package engine; import _ "unsafe"`}, withOwners, "unsafe belongs to executors/js/engine/memory_linux.go"},
		{"nobody owns plugin", map[string]string{"profiles/a.go": `package profiles; import _ "plugin"`}, withOwners, "plugin belongs to nobody"},
		{"unknown dependency", map[string]string{"profiles/a.go": `package profiles; import _ "example.com/left-pad"`}, withOwners, "example.com/left-pad is not in the owners table"},
		{"owner", map[string]string{"schema/a.go": `package schema; import _ "cuelang.org/go/cue"`}, withOwners, ""},
		{"pure reads files", map[string]string{"schema/a.go": `package schema; import _ "os"`}, withPure, "schema/a.go:1: a pure package imports os"},
		{"panic", map[string]string{"schema/a.go": "package schema\nfunc f() { panic(1) }"}, withCalls, "schema/a.go:2: panic"},
		{"init", map[string]string{"schema/a.go": "package schema\nfunc init() {}"}, withCalls, "schema/a.go:2: init"},
		{"a method named init", map[string]string{"schema/a.go": "package schema\ntype t int\nfunc (t) init() {}"}, withCalls, ""},
		{"go statement", map[string]string{"rings/interpreter/a.go": "package interpreter\nfunc f() { go f() }"}, withCalls, "rings/interpreter/a.go:2: go"},
		{"go statement in the daemon", map[string]string{"cmd/ringd/internal/daemon/a.go": "package daemon\nfunc f() { go f() }"}, withCalls, ""},
		{"a context by hand", map[string]string{"rings/kernel/a.go": "package kernel\nimport \"time\"\ntype c struct{}\nfunc (c) Deadline() (t time.Time, ok bool) { return }\nfunc (c) Done() <-chan struct{} { return nil }\nfunc (*c) Err() error { return nil }\nfunc (c) Value(any) any { return nil }"},
			checkContexts, "rings/kernel/a.go:7: c is a context made by hand"},
		{"three methods of a context", map[string]string{"rings/kernel/a.go": "package kernel\ntype c struct{}\nfunc (c) Done() <-chan struct{} { return nil }\nfunc (c) Err() error { return nil }\nfunc (c) Value(any) any { return nil }"}, checkContexts, ""},
		{"background", map[string]string{"rings/kernel/a.go": "package kernel\nimport \"context\"\nvar c = context.Background()"}, withCalls, "rings/kernel/a.go:3: context.Background"},
		{"background under another name", map[string]string{"rings/kernel/a.go": "package kernel\nimport x \"context\"\nvar c = x.Background()"}, withCalls, "rings/kernel/a.go:3: context.Background"},
		{"clock as a value", map[string]string{"profiles/a.go": "package profiles\nimport \"time\"\nvar now = time.Now"}, withCalls, "profiles/a.go:3: time.Now"},
		{"environment", map[string]string{"rings/kernel/a.go": "package kernel\nimport \"os\"\nvar e = os.Getenv(\"HOME\")"}, withCalls, "rings/kernel/a.go:3: os.Getenv"},
		{"best effort", map[string]string{"rings/kernel/a.go": "package kernel\nvar c = landlock.V5.BestEffort()"}, withCalls, "rings/kernel/a.go:2: BestEffort"},
		{"dot import", map[string]string{"rings/kernel/a.go": "package kernel\nimport . \"time\"\nvar n = Now()"}, withCalls, "rings/kernel/a.go:2: dot import"},
		{"stdout past the edge", map[string]string{"cmd/ringd/a.go": "package main\nimport \"os\"\nvar w = os.Stdout"}, withSinks, "cmd/ringd/a.go:3: os.Stdout"},
		{"stderr under another name", map[string]string{"cmd/ringd/internal/clients/a.go": "package clients\nimport x \"os\"\nfunc f() { x.Stderr.WriteString(text) }"}, withSinks, "cmd/ringd/internal/clients/a.go:3: os.Stderr"},
		{"print", map[string]string{"cmd/ringd/a.go": "package main\nimport \"fmt\"\nfunc f() { fmt.Printf(text) }"}, withSinks, "cmd/ringd/a.go:3: fmt.Printf"},
		{"builtin print", map[string]string{"cmd/ringd/a.go": "package main\nfunc f() { println(text) }"}, withSinks, "cmd/ringd/a.go:2: println"},
		{"package log", map[string]string{"cmd/ringd/internal/daemon/a.go": "package daemon\nimport l \"log\"\nfunc f() { l.Print(text) }"}, withSinks, "cmd/ringd/internal/daemon/a.go:2: log"},
		{"log line of its own", map[string]string{"cmd/ringd/internal/daemon/a.go": "package daemon\nimport \"log/slog\"\nfunc f() { slog.Info(text) }"}, withSinks, "cmd/ringd/internal/daemon/a.go:3: log/slog.Info"},
		{"terminal by its path", map[string]string{"cmd/ringd/a.go": "package main\nimport \"os\"\nvar f, _ = os.Create(\"/dev/stdout\")"}, withSinks, "cmd/ringd/a.go:3: /dev/std"},
		{"stream of a command", map[string]string{"cmd/ringd/a.go": "package main\nfunc f() { cmd.SetOut(w) }"}, withSinks, "cmd/ringd/a.go:2: .SetOut"},
		{"answer past the edge", map[string]string{"cmd/ringd/internal/api/a.go": "package api\nfunc f(c *call) { c.w.ResponseWriter.Write(text) }"}, withSinks, "cmd/ringd/internal/api/a.go:2: .ResponseWriter"},
		{"handler of its own", map[string]string{"cmd/ringd/internal/api/a.go": "package api\nimport \"net/http\"\nfunc f(w http.ResponseWriter) { w.Write(text) }"}, withSinks, "cmd/ringd/internal/api/a.go:3: net/http.ResponseWriter"},
		{"bytes to a reader", map[string]string{"cmd/ringd/internal/clients/a.go": "package clients\nimport \"" + module + "/cmd/ringd/internal/inert\"\nvar w = inert.Bytes(out)"}, withSinks, "/inert.Bytes"},
		{"the edge", map[string]string{"cmd/ringd/internal/clients/a.go": "package clients\nimport \"fmt\"\nfunc f() { fmt.Fprint(p.Out, text) }"}, withSinks, ""},
		{"stdout of a guest", map[string]string{"executors/shell/guest/a.go": "package guest\nimport \"os\"\nvar w = os.Stdout"}, withSinks, ""},
		{"long function", map[string]string{"schema/a.go": "package schema\nfunc f() {\n" + strings.Repeat("\n", 99) + "}\n"}, withSizes, "schema/a.go:2: function f has 101 lines"},
		{"long generated function", map[string]string{"schema/a.go": "// Code generated by a test. DO NOT EDIT.\npackage schema\nfunc f() {\n" + strings.Repeat("\n", 99) + "}\n"}, withSizes, ""},
		{"wide interface", map[string]string{"schema/a.go": "package schema\ntype i interface{ a(); b(); c(); d(); e(); f() }"}, withSizes, "schema/a.go:2: interface i has 6 methods"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.check(parseTree(t, tt.files))
			if tt.want == "" {
				report(t, got)
				return
			}
			if len(got) != 1 || !strings.Contains(got[0], tt.want) {
				t.Errorf("got %q, want one line with %q", got, tt.want)
			}
		})
	}
}

func withLayers(tr tree) []string { return checkLayers(tr, layers) }
func withOwners(tr tree) []string { return checkOwners(tr, owners) }
func withPure(tr tree) []string   { return checkPure(tr, pure, impure) }
func withCalls(tr tree) []string  { return checkCalls(tr, calls) }
func withSizes(tr tree) []string  { return checkSizes(tr, sizes) }
func withSinks(tr tree) []string  { return checkSinks(tr, "cmd", sinks) }
