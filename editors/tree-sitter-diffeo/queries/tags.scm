; Definitions with their documentation, and calls.

(
  (doc_comment)* @doc
  .
  (definition
    name: (identifier) @name
    parameters: (parameters)) @definition.function
  (#strip! @doc "^##\\s?")
  (#select-adjacent! @doc @definition.function)
)

(
  (doc_comment)* @doc
  .
  (definition
    name: (identifier) @name
    !parameters) @definition.constant
  (#strip! @doc "^##\\s?")
  (#select-adjacent! @doc @definition.constant)
)

(
  (doc_comment)* @doc
  .
  (type_declaration
    name: (type_identifier) @name) @definition.type
  (#strip! @doc "^##\\s?")
  (#select-adjacent! @doc @definition.type)
)

(variant
  name: (constructor) @name) @definition.constructor

(call
  function: (identifier) @name) @reference.call

(call
  function: (field_expression
    field: (field_identifier) @name)) @reference.call

(type_identifier) @name @reference.type
