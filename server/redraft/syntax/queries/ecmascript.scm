; What JavaScript, TypeScript and TSX have in common.
(function_declaration name: (_) @name body: (_) @body) @function
(generator_function_declaration name: (_) @name body: (_) @body) @function
(class_declaration name: (_) @name) @class
(method_definition name: (_) @name body: (_) @body) @method

(variable_declarator
  name: (identifier) @name
  value: [
    (arrow_function body: (statement_block)? @body)
    (function_expression body: (_) @body)
    (generator_function body: (_) @body)
  ]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(variable_declarator name: (identifier) @name value: (object)) @object

(assignment_expression
  left: [(identifier) (member_expression)] @name
  right: [
    (arrow_function body: (statement_block)? @body)
    (function_expression body: (_) @body)
    (generator_function body: (_) @body)
  ]) @function
(assignment_expression left: [(identifier) (member_expression)] @name right: (class)) @class

(pair
  key: (_) @name
  value: [
    (arrow_function body: (statement_block)? @body)
    (function_expression body: (_) @body)
    (generator_function body: (_) @body)
  ]) @method

(export_statement
  "default" @name
  value: [
    (arrow_function body: (statement_block)? @body)
    (function_expression !name body: (_) @body)
  ]) @function
(export_statement "default" @name value: (class !name)) @class

; const Button = memo((props) => ...), at the top level only: elsewhere it is an ordinary call.
(program
  [
    (lexical_declaration
      (variable_declarator
        name: (identifier) @name
        value: (call_expression
          arguments: (arguments . [
            (arrow_function body: (statement_block)? @body)
            (function_expression body: (_) @body)
          ]))) @function)
    (export_statement
      (lexical_declaration
        (variable_declarator
          name: (identifier) @name
          value: (call_expression
            arguments: (arguments . [
              (arrow_function body: (statement_block)? @body)
              (function_expression body: (_) @body)
            ]))) @function))
  ])
