[(definition) (type_declaration) (value_binding) (function_binding) (case_arm)] @indent
(_ "(" ")" @end) @indent
(_ "[" "]" @end) @indent
(_ "{" "}" @end) @indent
