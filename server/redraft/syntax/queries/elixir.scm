(call
  target: (identifier) @_define
  (arguments (alias) @name)
  (do_block)
  (#any-of? @_define "defmodule" "defprotocol")) @module
(call
  target: (identifier) @_define
  (arguments (alias) @name (keywords (pair value: (alias) @name)))
  (do_block)
  (#eq? @_define "defimpl")) @impl
(call
  target: (identifier) @_define
  (arguments
    . [
      (call target: (identifier) @name)
      (identifier) @name
      (binary_operator left: (call target: (identifier) @name) operator: "when")
      (binary_operator left: (identifier) @name operator: "when")
      (binary_operator operator: _ @name)
    ])
  (do_block)? @body
  (#any-of? @_define "def" "defp" "defguard" "defguardp" "defdelegate")) @function
(call
  target: (identifier) @_define
  (arguments
    . [
      (call target: (identifier) @name)
      (identifier) @name
      (binary_operator left: (call target: (identifier) @name) operator: "when")
    ])
  (do_block)? @body
  (#any-of? @_define "defmacro" "defmacrop")) @macro

; test "adds", %{cart: cart} do ... end
(call target: (identifier) @name (arguments . (string) @name) (do_block) @body) @callback
