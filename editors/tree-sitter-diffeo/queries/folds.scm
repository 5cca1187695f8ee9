[
  (definition)
  (type_declaration)
  (import_list)
  (case_expression)
  (loop_expression)
  (comprehension)
  (array)
  (list)
  (tuple)
  (record)
  (record_update)
  (record_type)
  (arguments)
] @fold

(doc_comment)+ @fold
