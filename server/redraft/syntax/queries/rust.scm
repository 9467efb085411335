(function_item name: (_) @name body: (_) @body) @function
(function_signature_item name: (_) @name) @function
(struct_item name: (_) @name) @struct
(union_item name: (_) @name) @struct
(enum_item name: (_) @name) @enum
(trait_item name: (_) @name) @trait
(mod_item name: (_) @name body: (_)) @module
(macro_definition name: (_) @name) @macro
(type_item name: (_) @name) @type

; Named by its header; what lies in it belongs to the type.
(impl_item "impl" @name trait: (_)? @name "for"? @name type: (_) @name @scope) @impl
(let_declaration pattern: (identifier) @name value: (closure_expression body: (block) @body)) @function
