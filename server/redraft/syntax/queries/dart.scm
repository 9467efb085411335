; A body stands behind the signature it belongs to.
((method_signature (function_signature name: (identifier) @name)) @method . (function_body (block)? @body) @end)
((method_signature (getter_signature name: (identifier) @name)) @method . (function_body (block)? @body) @end)
((method_signature (setter_signature name: (identifier) @name)) @method . (function_body (block)? @body) @end)
((method_signature (operator_signature "operator" @name (binary_operator) @name)) @method . (function_body (block)? @body) @end)
((method_signature (constructor_signature "." . (identifier) @name)) @method . (function_body (block)? @body) @end)
((method_signature (constructor_signature name: (identifier) @name)) @method . (function_body (block)? @body) @end)
((method_signature (factory_constructor_signature . (identifier) @name . (identifier)? @name)) @method . (function_body (block)? @body) @end)
((function_signature name: (identifier) @name) @function . (function_body (block)? @body) @end)
(declaration (constructor_signature "." . (identifier) @name)) @method
(declaration (constructor_signature name: (identifier) @name)) @method
(declaration (function_signature name: (identifier) @name)) @method
(local_function_declaration (lambda_expression (function_signature name: (identifier) @name) (function_body (block)? @body))) @function
(class_definition name: (identifier) @name) @class
(mixin_declaration (mixin) . (identifier) @name) @class
(extension_declaration name: (identifier) @name) @class
(enum_declaration name: (identifier) @name) @enum
(type_alias . (type_identifier) @name) @type
(static_final_declaration . (identifier) @name (function_expression)) @function
(initialized_variable_definition name: (identifier) @name value: (function_expression)) @function

; test('adds', () { ... })
(expression_statement
  (identifier) @name
  (selector
    (argument_part
      (arguments
        . (argument (string_literal) @name)
        (argument (function_expression)))))) @callback
