package enclose

const starterName = "guest-starter"

func (g *guest) reap() int { return failed }
func starter() int         { return failed }
