(function_declaration name: (_) @name body: (_)? @body) @function
(test_declaration "test" @name [(string) (identifier)]? @name (block) @body) @function
(variable_declaration (identifier) @name (struct_declaration)) @struct
(variable_declaration (identifier) @name (union_declaration)) @struct
(variable_declaration (identifier) @name (enum_declaration)) @enum
