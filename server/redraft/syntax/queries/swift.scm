; Bodies are found by their field: with a @body these take half a second to compile.
(function_declaration "func" . _ @name) @function
(init_declaration "init" @name) @method
(deinit_declaration "deinit" @name) @method
(subscript_declaration "subscript" @name) @method
(property_declaration name: (pattern) @name computed_value: (_)) @method
(property_declaration name: (pattern) @name value: (lambda_literal)) @function
(protocol_function_declaration name: (_) @name) @method
(macro_declaration (simple_identifier) @name) @macro
(class_declaration declaration_kind: "class" name: (_) @name) @class
(class_declaration declaration_kind: "actor" name: (_) @name) @class
(class_declaration declaration_kind: "struct" name: (_) @name) @struct
(class_declaration declaration_kind: "enum" name: (_) @name) @enum
(class_declaration declaration_kind: "extension" @name name: (_) @name @scope) @impl
(protocol_declaration name: (_) @name) @interface
(typealias_declaration name: (type_identifier) @name) @type

; describe("a basket") { ... }
(call_expression
  (simple_identifier) @name
  (call_suffix (value_arguments . (value_argument value: (line_string_literal) @name)) (lambda_literal))) @callback
