(definition "def" @context name: (_) @name) @item
(type_declaration "type" @context name: (_) @name) @item
