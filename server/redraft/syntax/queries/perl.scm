(subroutine_declaration_statement name: (_) @name body: (_) @body) @function
(method_declaration_statement name: (_) @name body: (_) @body) @method
(package_statement name: (_) @name (block)) @module
(class_statement name: (_) @name (block)) @class
(assignment_expression
  left: [(variable_declaration variable: (scalar (varname) @name)) (scalar (varname) @name)]
  right: (anonymous_subroutine_expression body: (_) @body)) @function

; subtest 'adds' => sub { ... };
(ambiguous_function_call_expression
  function: (_) @name
  arguments: (list_expression
    . [(string_literal) (interpolated_string_literal)] @name
    (anonymous_subroutine_expression body: (_) @body))) @callback
(function_call_expression
  function: (_) @name
  arguments: (list_expression
    . [(string_literal) (interpolated_string_literal)] @name
    (anonymous_subroutine_expression body: (_) @body))) @callback
