(function name: (_) @name patterns: (_)) @function
(bind name: (variable) @name) @function
(data_type name: (_) @name) @type
(newtype name: (_) @name) @type
(type_synonym name: (_) @name) @type
(class name: (_) @name) @class
(instance "instance" @name name: (_) @name patterns: (_) @name @scope) @impl
