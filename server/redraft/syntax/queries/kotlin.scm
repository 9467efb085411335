(function_declaration name: (_) @name (function_body (block)? @body)?) @function
(property_declaration (variable_declaration (identifier) @name) [(getter) (setter)]) @method
(secondary_constructor "constructor" @name (block)? @body) @method
(class_declaration name: (_) @name) @class
(object_declaration name: (_) @name) @object
(type_alias type: (_) @name) @type
