package script

// Construct is a construct of bash that a script may not use, since it would not run as in bash.
type Construct struct {
	Key     string // stable: "redirect.fd"
	What    string // its usual name
	Instead string // what to write instead, or empty
}

// Unsupported is the one list of constructs that are rejected by name, sorted by Key. A construct that is
// removed from the list runs. The runner then has to run it as bash does.
func Unsupported() []Construct {
	return []Construct{
		{"arithmetic.element", "changing an array element inside of arithmetic", "a[$i]=$(( ${a[$i]:-0} + 1 ))"},
		{"array.default", "${a[@]:-word}, ${a[@]:=word} and ${a[@]:?word}", "test ${#a[@]} first"},
		{"brace.after", "braces right behind $name, which bash reads as part of the name", "${name}{a,b}"},
		{
			"brace.size", "braces that make more than 16384 words, or too many braces in one word",
			"a loop: for ((i = 0; i < n; i++))",
		},
		{"cd.option", "options of cd but -L, -P and --", "cd -- \"$dir\""},
		{
			"comment.continued", "a comment that ends in a backslash",
			"take the backslash out: bash does not go on with a comment in the next line",
		},
		{"coproc", "coproc", "a pipe, or a command substitution"},
		{"declare.function", "declare -F, and exported functions (export -f, declare -fx)", "declare -f name"},
		{"declare.integer", "declare -i", "x=$(( expression )) where it is set"},
		{"declare.letters", "declare -l, -u, -c, -t and -I", "${x,,} or ${x^^} where it is read"},
		{"declare.print", "declare, export, readonly and local without names", "name the variables: declare -p x"},
		{"declare.unexport", "export -n and declare +x", "unset x, and set it again under another name"},
		{"extglob.word", "?( *( +( @( !( outside of [[ ]] and case", "a loop with case, or [[ $x == @(a|b) ]]"},
		{
			"heredoc.delimiter", "a here-document whose delimiter is quoted in part",
			"quote the whole delimiter: <<'EOF'",
		},
		{"let.quoted", "let with an expansion inside of quotes", "(( expression ))"},
		{"node", "a construct that bash does not have", ""},
		{"parameter.anchor", "${x/#a/b} and ${x/%a/b}", "b${x#a} or ${x%a}b, after a test"},
		{
			"parameter.elements", "an indirect list: ${!x} with x='a[@]'",
			"a name reference: declare -n r=a; \"${r[@]}\"",
		},
		{"parameter.transform", "${x@P}, ${x@E}, ${x@K} and ${x@k}", "printf '%q' \"$x\", or set the text as it is"},
		{"procsubst.output", ">( )", "a pipe: command | tee file"},
		{"redirect.dup", "a copy of a descriptor other than 0, 1 and 2, or one that is moved", "2>&1 or >&2"},
		{"redirect.fd", "descriptors above 2", "a file, or a { } group with its own redirects"},
		{"redirect.readwrite", "<>", "< to read, > to write"},
		{"redirect.variable", "{name}> redirects", "a file"},
		{
			"set.option", "options of set but -a -e -f -n -u -x -o pipefail, and those that change nothing here",
			"set -euo pipefail",
		},
		{"set.print", "set without words", "declare -p x for a name"},
		{
			"shopt.option",
			"options of shopt but nullglob, dotglob, globstar, nocaseglob, extglob, expand_aliases and inherit_errexit",
			"",
		},
		{"shopt.print", "shopt that asks or prints", ""},
		{
			"string.code", "text with a command substitution in what bash may evaluate as a subscript or as arithmetic",
			"run the command first and use its result",
		},
		{"test.code", "[[ -v a[i] ]]", "[[ -n ${a[i]+set} ]]"},
		{"test.number", "an expression as operand of -eq, -ne, -lt, -le, -gt or -ge in [[ ]]", "(( x + 1 == 2 ))"},
		{"test.pattern", "a quoted expansion on the right of =~", "[[ $x == *\"$y\"* ]]"},
		{
			"trap.exit", "trap ... EXIT inside of ( ) or $( )",
			"a trap of the whole script, or the commands at the end of the group",
		},
		{"trap.option", "trap -l and trap -p", ""},
		{"trap.signal", "trap of DEBUG, RETURN, KILL and STOP", "call a function where it is needed"},
		{
			"variable",
			"a variable that bash keeps and ringd does not: SECONDS, BASHPID, $_ and others, PIPESTATUS but right " +
				"behind its pipe, FUNCNAME but ${FUNCNAME[0]} in a function",
			"cmd | tee log; rc=${PIPESTATUS[0]}, or set -o pipefail; date +%s for SECONDS",
		},
	}
}

// isMissingVariable reports whether bash sets a variable itself that the runner does not set.
func isMissingVariable(name string) bool {
	switch name {
	case "PIPESTATUS", "FUNCNAME", "FUNCNEST", "BASH_LINENO", "BASH_COMMAND", "BASH_SUBSHELL", "BASHPID", "BASH_ARGC",
		"BASH_ARGV", "BASH_ARGV0",
		"BASH_EXECUTION_STRING", "BASH_CMDS", "BASH_ALIASES", "BASHOPTS", "SHELLOPTS", "SECONDS", "EPOCHSECONDS",
		"EPOCHREALTIME", "GROUPS", "HISTCMD",
		"COMP_WORDS", "COMP_CWORD", "COMP_LINE", "COMP_POINT", "COMPREPLY", "COPROC", "READLINE_LINE", "READLINE_POINT",
		"BASH_MONOSECONDS", "_":
		return true
	default:
		return false
	}
}
