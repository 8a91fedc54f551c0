//go:build !linux

package js_test

import "errors"

const broken = "js-broken-"

func playBroken(string) int { return 1 }

func sealAsOne() error { return errors.New("only Linux guests can be sealed") }
