package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
)

// shortID is the length of a displayed run id: 55 bits, which are accepted wherever an id is.
const shortID = 12

// ShortID returns the start of a run id for people.
func ShortID(id string) string {
	if len(id) > shortID {
		id = id[:shortID]
	}
	return Visible(id)
}

// Row is a row of a table, with lines below it.
type Row struct {
	Cells []string
	Under []string
}

// narrowest is the minimum width of a clipped column, gap the space between two columns.
const (
	narrowest = 6
	gap       = 2
)

// Table prints rows below a header, or nothing without rows. It clips the widest cells until a row has 80
// columns, but never the first cell, which is an id. With wide it clips none.
func (p Page) Table(header []string, rows []Row, wide bool) {
	if len(rows) == 0 {
		return
	}
	cells := [][]string{header}
	for _, r := range rows {
		shown := make([]string, len(header))
		for i := range min(len(r.Cells), len(header)) {
			shown[i] = Visible(r.Cells[i])
		}
		cells = append(cells, shown)
	}
	widths := make([]int, len(header))
	for _, row := range cells {
		for i, c := range row {
			widths[i] = max(widths[i], displayWidth(c))
		}
	}
	if !wide {
		shrinkColumns(widths)
	}
	for n, row := range cells {
		var b strings.Builder
		for i, c := range row {
			c = clip(c, widths[i])
			b.WriteString(c)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-displayWidth(c)+gap))
			}
		}
		line := strings.TrimRight(b.String(), " ")
		if n == 0 {
			fmt.Fprintln(p.W, p.style(safetext.Dim, line))
			continue
		}
		fmt.Fprintln(p.W, line)
		for _, under := range rows[n-1].Under {
			fmt.Fprintln(p.W, "  "+strings.Join(foldCommands(Clean(under), width-4), "\n    "))
		}
	}
}

// shrinkColumns reduces the widest columns, except the first, until a row fits.
func shrinkColumns(widths []int) {
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > width && len(widths) > 1; total-- {
		most := slices.Max(widths[1:])
		if most <= narrowest {
			return
		}
		widths[1+slices.Index(widths[1:], most)]--
	}
}

// clip truncates text to a width, with a mark.
func clip(text string, most int) string {
	if displayWidth(text) <= most {
		return text
	}
	r := []rune(text)
	return string(r[:runesThatFit(r, max(0, most-1))]) + "…"
}

// displayWidth returns the width of a text, counting wide letters twice.
func displayWidth(text string) int {
	n := 0
	for _, r := range text {
		if n++; r >= firstWide {
			n++
		}
	}
	return n
}

// Age formats an age in one or two figures.
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(0, d); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 2*day:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d/day))
	}
}
