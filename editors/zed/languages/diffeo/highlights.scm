; The captures of the tree-sitter command line, Neovim, Helix and Zed. No two patterns meet at a node, for the
; editors differ in which of two wins.

; Comments and literals

(comment) @comment
(doc_comment) @comment.documentation
(integer) @number
(real) @number.float
(boolean) @boolean
(string) @string
(escape_sequence) @string.escape

; Keywords

[
  "def"
  "type"
  "let"
  "rec"
  "in"
  "do"
  "with"
  "of"
] @keyword

"import" @keyword.import
"fn" @keyword.function

[
  "if"
  "then"
  "else"
  "case"
] @keyword.conditional

[
  "loop"
  "for"
  "while"
] @keyword.repeat

[
  "and"
  "or"
  "not"
] @keyword.operator

(list
  "list" @keyword)

; Types and constructors

(type_identifier) @type
(type_variable) @type.parameter
(size) @type.parameter
(constructor) @constructor

; A field with a capital is a constructor of a module, for that is what most of them are.
(field_expression
  field: (field_identifier) @constructor
  (#match? @constructor "^[A-Z]"))

; Definitions and variables

(definition
  name: (identifier) @function
  parameters: (parameters))

(definition
  name: (identifier) @constant
  !parameters)

(function_binding
  name: (identifier) @function)

(module) @module

(parameters
  (variable_pattern) @variable.parameter)

(parameters
  (annotated_pattern
    pattern: (variable_pattern) @variable.parameter))

(function_expression
  parameter: (variable_pattern) @variable.parameter)

(function_expression
  parameter: (tuple_pattern
    (variable_pattern) @variable.parameter))

(function_expression
  parameter: (tuple_pattern
    (annotated_pattern
      pattern: (variable_pattern) @variable.parameter)))

(wildcard) @variable.builtin
(hole) @variable.builtin

; Calls. The operators that take derivatives stand out.

(call
  function: (identifier) @function.call
  (#not-any-of? @function.call
    "grad" "value_and_grad" "grad_along" "rd" "fd" "vjp" "jvp" "jacobian" "jacfwd" "jacrev" "hessian" "hvp" "derivatives" "jet"
    "stop_gradient" "checkpoint" "with_derivative" "with_exact_derivative"))

(call
  function: (identifier) @function.builtin
  (#any-of? @function.builtin
    "grad" "value_and_grad" "grad_along" "rd" "fd" "vjp" "jvp" "jacobian" "jacfwd" "jacrev" "hessian" "hvp" "derivatives" "jet"
    "stop_gradient" "checkpoint" "with_derivative" "with_exact_derivative"))

; Fields

(field_type
  name: (field_identifier) @property)

(field_value
  name: (field_identifier) @property)

(field_pattern
  name: (field_identifier) @property)

(shorthand_field
  (identifier) @property)

(field_expression
  field: (field_identifier) @property
  (#not-match? @property "^[A-Z]"))

; Operators and punctuation

[
  "+"
  "-"
  "*"
  "/"
  "%"
  "^"
  "=="
  "!="
  "<"
  "<="
  ">"
  ">="
  "::"
  "++"
  "|>"
  "="
  "->"
  ".."
] @operator

[
  "("
  ")"
  "["
  "]"
  "{"
  "}"
] @punctuation.bracket

[
  ","
  "."
  ":"
  "|"
] @punctuation.delimiter
