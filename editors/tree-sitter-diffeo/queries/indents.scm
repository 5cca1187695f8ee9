; The captures of Neovim.

[
  (definition)
  (type_declaration)
  (import_list)
  (value_binding)
  (function_binding)
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
] @indent.begin

[
  ")"
  "]"
  "}"
] @indent.branch @indent.end

(case_arms
  "|" @indent.branch)

(if_expression
  "else" @indent.branch)

[
  (comment)
  (doc_comment)
  (string)
] @indent.auto
