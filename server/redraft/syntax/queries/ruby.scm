(method name: (_) @name body: (_)? @body) @function
(singleton_method name: (_) @name body: (_)? @body) @function
(class name: (_) @name) @class
(module name: (_) @name) @module

; it "adds" do ... end, task :build do ... end, RSpec.describe Shop do ... end
(call
  !receiver
  method: (identifier) @name
  arguments: (argument_list . [(string) (simple_symbol) (constant) (scope_resolution)] @name)
  block: (_ body: (_)? @body)) @callback
(call
  receiver: (constant) @_receiver
  method: (identifier) @name
  arguments: (argument_list . [(string) (constant) (scope_resolution)] @name)
  block: (_ body: (_)? @body)
  (#eq? @_receiver "RSpec")) @callback
