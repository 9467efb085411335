(function_declaration name: (_) @name (function_body (block)? @body)?) @function
(property_declaration (variable_declaration (identifier) @name) [(getter) (setter)]) @method
(secondary_constructor "constructor" @name (block)? @body) @method
(class_declaration name: (_) @name) @class
(object_declaration name: (_) @name) @object
(type_alias type: (_) @name) @type
(property_declaration (variable_declaration (identifier) @name) (lambda_literal)) @function

; test("adds") { ... }
(call_expression
  (call_expression
    (identifier) @name
    (value_arguments . (value_argument (string_literal) @name)))
  (annotated_lambda)) @callback
