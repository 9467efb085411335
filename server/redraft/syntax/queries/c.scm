(function_definition declarator: (_) @name body: (compound_statement)? @body) @function
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @struct
(enum_specifier name: (_) @name body: (_)) @enum
(type_definition
  type: [
    (struct_specifier !name body: (_))
    (union_specifier !name body: (_))
    (enum_specifier !name body: (_))
  ]
  declarator: (type_identifier) @name) @struct
