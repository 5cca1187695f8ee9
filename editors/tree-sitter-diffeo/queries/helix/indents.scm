; The captures of Helix.

[
  (definition)
  (type_declaration)
  (value_binding)
  (function_binding)
] @indent @extend

[
  (import_list)
  (if_expression)
  (loop_expression)
  (case_arms)
  (case_arm)
  (arguments)
  (parenthesized_expression)
  (tuple)
  (array)
  (list)
  (comprehension)
  (record)
  (record_update)
  (index_expression)
  (slice_expression)
  (parameters)
  (tuple_type)
  (record_type)
  (record_pattern)
  (tuple_pattern)
] @indent

[
  ")"
  "]"
  "}"
  "|"
  "else"
] @outdent
