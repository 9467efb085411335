(public_field_definition
  name: (_) @name
  value: [
    (arrow_function body: (statement_block)? @body)
    (function_expression body: (_) @body)
  ]) @method
(abstract_class_declaration name: (_) @name) @class
(abstract_method_signature name: (_) @name) @method
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(type_alias_declaration name: (_) @name) @type
(internal_module name: (_) @name) @module
(ambient_declaration (function_signature name: (_) @name) @function)
