(class_specifier name: (_) @name body: (_)) @class
(namespace_definition name: (_) @name) @module
(concept_definition name: (_) @name) @type
(alias_declaration name: (_) @name) @type
(init_declarator declarator: (identifier) @name value: (lambda_expression body: (_) @body)) @function
