(function_definition name: (_) @name) @function
(function_declaration name: (_) @name) @function
(val_definition pattern: (identifier) @name value: (lambda_expression)) @function
(class_definition name: (_) @name) @class
(object_definition name: (_) @name) @object
(package_object name: (_) @name) @object
(trait_definition name: (_) @name) @trait
(enum_definition name: (_) @name) @enum
(given_definition name: (_) @name) @object
(type_definition name: (_) @name) @type

; test("adds") { ... }
(call_expression
  function: (call_expression function: (identifier) @name arguments: (arguments . (string) @name))
  arguments: (block)) @callback

; "A basket" should "add" in { ... }
(infix_expression
  left: (infix_expression left: (string) @name right: (string) @name)
  right: (block)) @callback
