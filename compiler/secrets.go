package compiler

import (
	"regexp"
	"slices"
	"strings"
)

var (
	privateKey    = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY`)
	authorization = regexp.MustCompile(`(?i)\b(bearer|basic|token)\s+[A-Za-z0-9._~+/=-]{16,}`)
	webToken      = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`)
	apiKey        = regexp.MustCompile(
		`\bsk-[A-Za-z0-9_-]{16,}|\b[srp]k_(live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/]{16,}`)
	github       = regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}`)
	gitlab       = regexp.MustCompile(`\bgl(pat|dt|rt|ptt|oas)-[A-Za-z0-9_-]{16,}`)
	slack        = regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`)
	aws          = regexp.MustCompile(`\b(AKIA|ASIA)[0-9A-Z]{16}\b`)
	google       = regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,}`)
	registry     = regexp.MustCompile(`\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{30,}`)
	huggingFace  = regexp.MustCompile(`\bhf_[A-Za-z0-9]{20,}`)
	digitalOcean = regexp.MustCompile(`\bdo[opr]_v1_[a-f0-9]{32,}`)
	telegram     = regexp.MustCompile(`(^|[^0-9])[0-9]{8,10}:[A-Za-z0-9_-]{35}\b`)
	password     = regexp.MustCompile(`://[^\s/:@]+:[^\s/@]+@`)
)

// form is one kind of token, with its name for findings.
type form struct {
	what string
	re   *regexp.Regexp
	part []string // each text of the form contains one of them
}

func forms() []form {
	return []form{
		{"a private key", privateKey, []string{"PRIVATE KEY"}},
		{"a value of an Authorization field", authorization, []string{" ", "\t"}},
		{"a JSON web token", webToken, []string{"eyJ"}},
		{"an API key", apiKey, []string{"sk-", "k_live_", "k_test_", "whsec_"}},
		{"a token of GitHub", github, []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}},
		{"a token of GitLab", gitlab, []string{"gl"}},
		{"a token of Slack", slack, []string{"xox"}},
		{"a key of AWS", aws, []string{"AKIA", "ASIA"}},
		{"a key of Google", google, []string{"AIza", "ya29."}},
		{"a token of a package registry", registry, []string{"npm_", "pypi-"}},
		{"a token of Hugging Face", huggingFace, []string{"hf_"}},
		{"a token of DigitalOcean", digitalOcean, []string{"_v1_"}},
		{"a token of Telegram", telegram, []string{":"}},
		{"a URL with a password", password, []string{"://"}},
	}
}

// shortest is the length of the shortest text that can be a secret.
const shortest = 12

// findSecret returns the kind of secret that the text looks like, or "". It knows the token formats of
// issuers. A secret of an unknown format is not found.
func findSecret(text string) string {
	if len(text) < shortest {
		return ""
	}
	for _, f := range forms() {
		if !slices.ContainsFunc(f.part, func(p string) bool { return strings.Contains(text, p) }) {
			continue
		}
		if found := f.re.FindString(text); found != "" && (f.re != authorization ||
			strings.ContainsAny(found, "0123456789=")) {
			return f.what
		}
	}
	return ""
}

// findSecretInName is findSecret for a text that should be a name: it also finds long random-looking runs of
// letters and digits.
func findSecretInName(text string) string {
	if what := findSecret(text); what != "" {
		return what
	}
	if prefix, _, ok := strings.Cut(text, "-"); ok && prefix == "sk" && len(text) >= 16 {
		return "an API key"
	}
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
		if len(run) >= 20 && looksRandom(run) {
			return "a secret rather than a name"
		}
	}
	return ""
}

// looksRandom reports whether digits and letters alternate as in a random text.
func looksRandom(run string) bool {
	changes := 0
	for i := 1; i < len(run); i++ {
		if digit(run[i]) != digit(run[i-1]) {
			changes++
		}
	}
	return changes >= 5
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
