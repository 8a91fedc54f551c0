package argv

// Word is one word of a command as far as it is known before the command runs. The zero Word is a known empty
// word.
type Word struct {
	Text string // the word; with Open, its beginning
	Open bool   // anything may follow Text
	Many bool   // with Open: it may become any number of words, including none
	// Fed, with Open, means that a program fills it in, from its input or with files that it finds. The final
	// word cannot be checked before it is used.
	Fed bool
}

// Known returns a completely known word.
func Known(text string) Word { return Word{Text: text} }

// AllKnown returns the words of an argv.
func AllKnown(argv []string) []Word {
	out := make([]Word, len(argv))
	for i, a := range argv {
		out[i].Text = a
	}
	return out
}
