(function_declaration name: (_) @name body: (_)? @body) @function
(assignment_statement
  (variable_list . (_) @name .)
  (expression_list . (function_definition body: (_)? @body) .)) @function
(assignment_statement
  (variable_list . (_) @name .)
  (expression_list . (table_constructor (field name: (_) value: (function_definition))) .)) @object
(field name: (_) @name value: (function_definition body: (_)? @body)) @function

; describe("a queue", function() ... end)
(function_call
  name: (_) @name
  arguments: (arguments . (string) @name (function_definition body: (_)? @body))) @callback
