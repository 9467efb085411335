(let_binding pattern: (value_name) @name (parameter)) @function
(let_binding pattern: (value_name) @name body: [(fun_expression) (function_expression)]) @function
(external (value_name) @name) @function
(value_specification (value_name) @name) @function
(method_definition (method_name) @name) @method
(class_definition (class_binding (class_name) @name)) @class
(module_definition (module_binding (module_name) @name)) @module
(module_type_definition (module_type_name) @name) @module
(type_binding name: (_) @name) @type
