package argv

// Word is one word of a command as far as it is known before the command runs.
// The zero Word is the empty word, known.
type Word struct {
	Text string // known; with Open it is how the word begins
	Open bool   // anything may follow Text
	Many bool   // with Open: it may become any number of words, or none
	// Fed, with Open, says that a program fills it, from its input or with the files that it finds.
	// Nobody sees the final word before it counts.
	Fed bool
}

// Known is a word that is all known.
func Known(text string) Word { return Word{Text: text} }

// AllKnown returns the words of an argv.
func AllKnown(argv []string) []Word {
	out := make([]Word, len(argv))
	for i, a := range argv {
		out[i].Text = a
	}
	return out
}
