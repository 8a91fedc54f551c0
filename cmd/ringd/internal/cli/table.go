package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
)

// shortID is how many letters of a run's id are shown: 55 bits of it, which stand
// for the run wherever an id is taken.
const shortID = 12

// ShortID is the beginning of a run's id that people are shown.
func ShortID(id string) string {
	if len(id) > shortID {
		id = id[:shortID]
	}
	return Visible(id)
}

// Row is a row of a table, with lines that stand under it.
type Row struct {
	Cells []string
	Under []string
}

// narrowest is what a column is clipped to at most, gap what stands between two.
const (
	narrowest = 6
	gap       = 2
)

// Table writes rows below a header, nothing where there are none. It clips the
// widest cells until a row has 80 columns, but never the first, which is an id;
// with wide it clips none.
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
			widths[i] = max(widths[i], columnsOf(c))
		}
	}
	if !wide {
		narrow(widths)
	}
	for n, row := range cells {
		var b strings.Builder
		for i, c := range row {
			c = clip(c, widths[i])
			b.WriteString(c)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-columnsOf(c)+gap))
			}
		}
		line := strings.TrimRight(b.String(), " ")
		if n == 0 {
			fmt.Fprintln(p.W, p.style(safetext.Dim, line))
			continue
		}
		fmt.Fprintln(p.W, line)
		for _, under := range rows[n-1].Under {
			fmt.Fprintln(p.W, "  "+strings.Join(folded(Clean(under), width-4), "\n    "))
		}
	}
}

// narrow takes from the widest columns but the first until a row has its width.
func narrow(widths []int) {
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

// clip is text in so many columns; a mark stands for what is left out.
func clip(text string, most int) string {
	if columnsOf(text) <= most {
		return text
	}
	r := []rune(text)
	return string(r[:fits(r, max(0, most-1))]) + "…"
}

// columnsOf is how wide text is where wide letters count twice.
func columnsOf(text string) int {
	n := 0
	for _, r := range text {
		if n++; r >= firstWide {
			n++
		}
	}
	return n
}

// Age is how long ago something was, in one or two figures.
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
