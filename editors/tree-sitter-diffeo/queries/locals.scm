; What binds names inside a definition. Names of the whole file are no locals.

[
  (source_file)
  (definition)
  (let_expression)
  (function_expression)
  (case_arm)
  (loop_expression)
  (comprehension)
] @local.scope

(variable_pattern) @local.definition.var

; The field of a record pattern alone is the name of a variable, too.
(field_pattern
  name: (field_identifier) @local.definition.var
  !pattern)

(function_binding
  name: (identifier) @local.definition.function)

(type_declaration
  name: (type_identifier) @local.definition.type)

(identifier) @local.reference
