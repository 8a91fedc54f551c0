package environment

import (
	"cmp"
	"strconv"
	"strings"
)

// versions compares two versions that consist of numbers. Others are not decided.
func versions(l, op, r string) verdict {
	prefix, wild := strings.CutSuffix(r, ".*")
	a, aok := numbers(l)
	b, bok := numbers(prefix)
	if !aok || !bok || wild && op != "==" && op != "!=" {
		return unknown
	}
	if wild {
		return say((order(a[:min(len(a), len(b))], b) == 0) == (op == "=="))
	}
	n := order(a, b)
	switch op {
	case "==", "===":
		return say(n == 0)
	case "!=":
		return say(n != 0)
	case "<":
		return say(n < 0)
	case "<=":
		return say(n <= 0)
	case ">":
		return say(n > 0)
	case ">=":
		return say(n >= 0)
	case "~=":
		if len(b) < 2 {
			return unknown
		}
		same := b[:len(b)-1]
		return say(n >= 0 && order(a[:min(len(a), len(same))], same) == 0)
	default:
		return unknown
	}
}

func numbers(text string) (out []int, ok bool) {
	for part := range strings.SplitSeq(strings.TrimSpace(text), ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil, false
		}
		out = append(out, n)
	}
	return out, true
}

// order compares numbers one by one. A missing number is 0.
func order(a, b []int) int {
	at := func(l []int, i int) int {
		if i < len(l) {
			return l[i]
		}
		return 0
	}
	for i := range max(len(a), len(b)) {
		if c := cmp.Compare(at(a, i), at(b, i)); c != 0 {
			return c
		}
	}
	return 0
}
