(function_definition name: (_) @name body: (_) @body) @function
(method_declaration name: (_) @name body: (_)? @body) @method
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(trait_declaration name: (_) @name) @trait
(enum_declaration name: (_) @name) @enum
(namespace_definition name: (_) @name body: (_)) @module
(assignment_expression
  left: (variable_name (name) @name)
  right: [
    (anonymous_function body: (_) @body)
    (arrow_function)
  ]) @function

; it('adds', function () { ... }) and Route::get('/', fn () => ...)
(expression_statement
  [
    (function_call_expression
      function: (_) @name
      arguments: (arguments
        . (argument [(string) (encapsed_string)] @name)
        (argument [(anonymous_function body: (_) @body) (arrow_function)])))
    (scoped_call_expression
      scope: (_) @name
      name: (_) @name
      arguments: (arguments
        . (argument [(string) (encapsed_string)] @name)
        (argument [(anonymous_function body: (_) @body) (arrow_function)])))
  ] @callback)
