(function_declaration name: (identifier) @name body: (block)? @body) @function
(method_declaration
  receiver: (parameter_list
    (parameter_declaration
      type: [
        (type_identifier) @owner
        (generic_type type: (_) @owner)
        (pointer_type (type_identifier) @owner)
        (pointer_type (generic_type type: (_) @owner))
      ]))
  name: (_) @name
  body: (block)? @body) @method
(type_spec name: (_) @name type: (struct_type)) @struct
(type_spec name: (_) @name type: (interface_type)) @interface
(type_spec name: (_) @name) @type
(type_alias name: (_) @name) @type

; t.Run("empty", func(t *testing.T) { ... }), and functions in variables.
(call_expression
  function: (_) @name
  arguments: (argument_list
    . [(interpreted_string_literal) (raw_string_literal)] @name
    (func_literal body: (_) @body))) @callback
(short_var_declaration
  left: (expression_list . (identifier) @name .)
  right: (expression_list . (func_literal body: (_) @body) .)) @function
(var_spec
  name: (identifier) @name
  value: (expression_list . (func_literal body: (_) @body) .)) @function
