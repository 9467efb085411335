(function_statement (function_name) @name (script_block) @body) @function
(class_statement . (simple_name) @name) @class
(class_method_definition (simple_name) @name (script_block)? @body) @method
(enum_statement . (simple_name) @name) @enum

; It "adds" { ... }
(command
  command_name: (command_name) @name
  command_elements: (command_elements
    (array_literal_expression (unary_expression (string_literal) @name))
    (array_literal_expression
      (unary_expression (script_block_expression (script_block) @body))))) @callback
