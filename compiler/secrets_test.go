package compiler

import (
	"strings"
	"testing"
)

// The samples are put together here, so that no tool takes this file for a leak.
func samples() []string {
	r := func(s string, n int) string { return strings.Repeat(s, n) }
	return []string{
		"-----BEGIN RSA " + "PRIVATE KEY-----", "-----BEGIN " + "PRIVATE KEY-----", "Bearer " + r("a1B2", 6), "authorization: basic " + r("YW5u", 6),
		"eyJ" + r("hbGci", 3) + ".eyJ" + r("zdWIi", 3) + ".x", "sk-" + r("aB3", 8), "sk-proj-" + r("aB3", 8), "sk-ant-api03-" + r("aB3", 8),
		"sk_live_" + r("aB3", 6), "rk_test_" + r("aB3", 6), "whsec_" + r("aB3", 8), "ghp_" + r("aB3", 12), "github_pat_" + r("aB3", 12),
		"glpat-" + r("aB3", 7), "xoxb-" + r("12345", 4), "AKIA" + r("ABCD", 4), "AIza" + r("aB3cD", 7), "ya29." + r("aB3", 8), "npm_" + r("aB3", 12),
		"pypi-AgE" + r("aB3", 12), "hf_" + r("aB", 15), "dop_v1_" + r("0a1b", 16), "/bot123456789:" + r("aB3cD", 7) + "/sendMessage",
		"https://ann:" + "hunter2@example.com/", "see sk-" + r("aB3", 8) + " for it",
	}
}

func TestFind(t *testing.T) {
	for _, text := range samples() {
		if findSecret(text) == "" {
			t.Errorf("%q passes", text)
		}
	}
	for _, text := range []string{"", "models-key", "the models, for reviews", "https://api.example.com/v1",
		"/v1/messages", "task-force-of-the-north-east-regional-office",
		"risk-assessment-of-a-long-name", "disk-usage-of-the-hosts-in-a-rack", "sha256:" + strings.Repeat("0123456789abcdef", 4), "3.14", "spawnSubagent",
		"ghp_short", "bearer of bad news", "basic authentication", "basic internationalization of texts", "group:maintainers@acme.example", "user:ana@acme.example"} {
		if what := findSecret(text); what != "" {
			t.Errorf("%q is taken for %s", text, what)
		}
	}
}

func TestFindInName(t *testing.T) {
	for _, text := range append(samples(), "a1b2c3d4e5f6a7b8c9d0e1f2", "key-0f8e7d6c5b4a39281706f5e4",
		"sk-abcdefghijklmnop") {
		if findSecretInName(text) == "" {
			t.Errorf("%q passes for a name", text)
		}
	}
	for _, text := range []string{"models-key", "gateway", "openai", "anthropic-2", "warehouse-eu1-reader",
		"internationalization-service", "a1", "team2-search-v3-readonly-2026",
		"sk-team", "s3-eu-west-1-backup-20261231"} {
		if what := findSecretInName(text); what != "" {
			t.Errorf("%q is taken for %s", text, what)
		}
	}
}
