package cli

import (
	"fmt"
	"time"

	"github.com/ringd/ringd/schema/wire"
)

// Lockdown prints whether there is a lockdown, by whom, when and why.
func (p Page) Lockdown(l wire.Lockdown) {
	if l.State == wire.LockdownOpen {
		fmt.Fprintf(p.W, "%s: no lockdown\n", p.Good("open"))
		return
	}
	since := ""
	if l.Since != nil {
		since = " since " + l.Since.UTC().Format(time.RFC3339)
	}
	fmt.Fprintf(p.W, "%s by %s%s\n", p.Bad("lockdown"), Visible(l.By), since)
	p.printHanging("  ", "  ", Visible(l.Reason), "  ")
	if l.Live > 0 {
		fmt.Fprintf(p.W, "  %s still ending: they can do nothing any more\n", Count(l.Live, "run"))
	}
	if l.Unrecorded != "" {
		p.printHanging("  not on disk, a restart forgets it: ", p.Bad("  not on disk, a restart forgets it: "),
			Visible(l.Unrecorded), "    ")
	}
}
