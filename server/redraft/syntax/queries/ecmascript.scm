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

; test("adds", () => { ... }) and app.get("/", (req, res) => { ... }), named by call and string.
(expression_statement
  (call_expression
    function: [
      (identifier) @name
      (member_expression) @name
      (call_expression function: (_) @name)
    ]
    arguments: (arguments . [(string) (template_string)] @name
      [
        (arrow_function body: (statement_block)? @body)
        (function_expression body: (_) @body)
        (generator_function body: (_) @body)
      ])) @callback)

; The same of a call without a string that runs before or after tests.
(expression_statement
  (call_expression
    function: (identifier) @name
    arguments: (arguments . [
      (arrow_function body: (statement_block)? @body)
      (function_expression body: (_) @body)
    ])) @callback
  (#match? @name "^(before|after|setup|teardown)(All|Each)?$"))
