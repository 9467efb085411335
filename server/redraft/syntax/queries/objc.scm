(method_definition . (method_type)? . (identifier) @name (compound_statement) @body) @method
(class_interface "@interface" @name . (identifier) @name @scope) @interface
(class_implementation . (identifier) @name) @class
(protocol_declaration "@protocol" @name . (identifier) @name @scope) @interface
