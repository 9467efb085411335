(method_declaration name: (_) @name body: (block)? @body) @method
(constructor_declaration name: (_) @name body: (block)? @body) @method
(destructor_declaration "~" @name name: (_) @name body: (block)? @body) @method
(operator_declaration "operator" @name operator: _ @name body: (block)? @body) @method
(property_declaration name: (_) @name) @method
(local_function_statement name: (_) @name body: (block)? @body) @function
(class_declaration name: (_) @name) @class
(record_declaration name: (_) @name) @class
(struct_declaration name: (_) @name) @struct
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(namespace_declaration name: (_) @name) @module
(conversion_operator_declaration "operator" @name type: (_) @name body: (block)? @body) @method
(indexer_declaration "this" @name) @method
(event_declaration name: (_) @name) @method
(delegate_declaration name: (_) @name) @type
(variable_declarator name: (_) @name (lambda_expression body: (block) @body)) @function

; app.MapGet("/", () => { ... })
(expression_statement
  (invocation_expression
    function: (_) @name
    arguments: (argument_list
      . (argument (string_literal) @name)
      (argument (lambda_expression body: (block)? @body)))) @callback)
