//go:build !linux

package wasmguest

import "errors"

// Guests need Linux.
func reserve(int) ([]byte, error) { return nil, errors.New("guests need Linux") }

func open([]byte) error { return errors.New("guests need Linux") }

func release([]byte) {}
