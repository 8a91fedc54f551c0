package lockdown

import (
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
)

// Decode reads an order as Open does.
func Decode(b []byte, o *Order) (err error) {
	*o, err = trust.Exactly(b, encode)
	return err
}

// CodeOf is the code of a refusal.
func CodeOf(err error) string {
	code, _ := codeOf(err)
	return code
}
