(function_definition name: (identifier) @name body: (block)? @body) @function
(class_definition name: (identifier) @name) @class
