(method name: (_) @name body: (_)? @body) @function
(singleton_method name: (_) @name body: (_)? @body) @function
(class name: (_) @name) @class
(module name: (_) @name) @module
