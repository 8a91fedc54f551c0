package schema

// The codes of findings about sources. They are API: tools match on them.
const (
	CodeAliasBomb     = "alias-bomb"         // YAML aliases expand too far or in a circle
	CodeAllowAndDeny  = "allow-and-deny"     // the same thing is granted and denied; the deny wins
	CodeConflict      = "conflict"           // two CUE values cannot both hold
	CodeCycle         = "cycle"              // a CUE value needs itself
	CodeDuplicateKey  = "duplicate-key"      // one name twice in one object
	CodeDuplicateName = "duplicate-name"     // two items of a list share the name that tells them apart
	CodeEmpty         = "empty-file"         // no value in the file
	CodeEncoding      = "encoding"           // not UTF-8 text
	CodeEnum          = "enum"               // not one of the choices
	CodeEvaluation    = "evaluation"         // a CUE expression has no value
	CodeFormat        = "unknown-format"     // the file's ending names no input form
	CodeImport        = "import"             // a CUE import outside the allowed packages
	CodeIncomplete    = "incomplete"         // a CUE value is not concrete
	CodeMissing       = "missing-field"      // a required field is absent
	CodeMultiple      = "multiple-documents" // more than one document in a file
	CodeNotPolicy     = "not-a-policy"       // neither form of the language
	CodeReference     = "reference"          // a CUE name that is not defined
	CodeRepeated      = "repeated-value"     // a list says the same thing twice
	CodeSchema        = "schema"             // a value of the right type and wrong content
	CodeSyntax        = "syntax"             // the text cannot be parsed
	CodeTooDeep       = "too-deep"           // nesting above the limit
	CodeTooLarge      = "too-large"          // a file or all of them above the limit
	CodeTooMany       = "too-many-findings"  // the rest is not shown
	CodeType          = "type-mismatch"      // a value of the wrong type
	CodeUnknownField  = "unknown-field"      // a name the language does not have
	CodeYAMLFeature   = "yaml-feature"       // tags, merge keys, complex keys
	CodeYAMLTrap      = "yaml-trap"          // YAML readers disagree about the value
)
