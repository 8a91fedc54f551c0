package schema

// Codes of findings about sources. They are API: tools match on them.
const (
	CodeAliasBomb     = "alias-bomb"         // YAML aliases expand too far or in a cycle
	CodeAllowAndDeny  = "allow-and-deny"     // the same item is granted and denied; the denial wins
	CodeConflict      = "conflict"           // contradicting CUE values
	CodeCycle         = "cycle"              // a CUE value depends on itself
	CodeDuplicateKey  = "duplicate-key"      // a repeated name in an object
	CodeDuplicateName = "duplicate-name"     // two list items with the same key
	CodeEmpty         = "empty-file"         // no value in the file
	CodeEncoding      = "encoding"           // not UTF-8 text
	CodeEnum          = "enum"               // not one of the allowed values
	CodeEvaluation    = "evaluation"         // a CUE expression has no value
	CodeFormat        = "unknown-format"     // unknown file extension
	CodeImport        = "import"             // a CUE import outside the allowed packages
	CodeIncomplete    = "incomplete"         // a CUE value is not concrete
	CodeMissing       = "missing-field"      // a required field is absent
	CodeMultiple      = "multiple-documents" // more than one document in a file
	CodeNotPolicy     = "not-a-policy"       // neither form of the language
	CodeReference     = "reference"          // a CUE name that is not defined
	CodeRepeated      = "repeated-value"     // a repeated list item
	CodeSchema        = "schema"             // a value with the right type and invalid content
	CodeSyntax        = "syntax"             // the text cannot be parsed
	CodeTooDeep       = "too-deep"           // nesting above the limit
	CodeTooLarge      = "too-large"          // a file, or all files together, above the limit
	CodeTooMany       = "too-many-findings"  // the other findings are not shown
	CodeType          = "type-mismatch"      // a value of the wrong type
	CodeUnknownField  = "unknown-field"      // an unknown name
	CodeYAMLFeature   = "yaml-feature"       // tags, merge keys, complex keys
	CodeYAMLTrap      = "yaml-trap"          // YAML readers disagree about the value
)
