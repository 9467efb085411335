--- The wire contract with the server: names and shapes, and nothing else.
--- server/redraft/lsp/contract.py says the same in Python, docs/protocol.md in prose.

return {
  -- Commands of the server, for workspace/executeCommand. Each takes one object, or nothing.
  EDIT = "redraft.edit", -- EditArgument -> Answer
  CANCEL = "redraft.cancel", -- CancelParams -> Cancelled
  WARM = "redraft.warm", -- CancelParams, by `uri` alone -> Status
  STATUS = "redraft.status", -- -> Status
  RELOAD = "redraft.reload", -- -> Status
  SHOW_TRACE = "redraft.showTrace", -- -> Trace

  -- A command of the client, with a PromptArgument: ask for an instruction, then edit with it.
  PROMPT = "redraft.prompt",

  CANCEL_NOTIFICATION = "redraft/cancel", -- to the server: CancelParams
  PARTIAL_NOTIFICATION = "redraft/partial", -- from the server: Partial
  STATUS_NOTIFICATION = "redraft/status", -- from the server: Status

  KIND = "refactor.rewrite.redraft", -- every action's kind is this and its name
  SECTION = "redraft", -- of workspace/configuration

  -- Codes that an edit is answered with, beside JSON-RPC's own. Nothing is edited then.
  ErrorCode = { CANCELLED = -32800, STALE = -32801, FAILED = -32803 },
}

---@alias redraft.Scope "function"|"selection"|"file"
---@alias redraft.Phase "waiting"|"prefill"|"decode"
---@alias redraft.Outcome "applied"|"preview"|"unchanged"|"started"
---@alias redraft.Ending redraft.Outcome|"failed"|"cancelled"
---@alias redraft.ModelState "unloaded"|"loading"|"loaded"
---@alias redraft.Reason
---| "token_limit"
---| "elision"
---| "parse_broken"
---| "deletion"
---| "no_code"
---| "context"
---| "timeout"

--- What a client may say of itself.
---@class redraft.InitializationOptions
---@field settings? table
---@field clientCommands? string[]
---@field trusted? boolean
---@field statusNotifications? boolean

---@class redraft.EditArgument
---@field uri? string
---@field instruction? string
---@field version? integer
---@field range? lsp.Range
---@field position? lsp.Position
---@field scope? redraft.Scope
---@field preview? boolean
---@field partial? boolean
---@field wait? boolean
---@field id? string
---@field title? string

---@class redraft.PromptArgument: redraft.EditArgument
---@field question? string

--- The edits that are meant: all that fit what is given.
---@class redraft.CancelParams
---@field id? string
---@field uri? string

---@class redraft.Cancelled
---@field cancelled integer

--- What an edit cost; times in seconds.
---@class redraft.EditStats
---@field promptTokens integer
---@field reusedTokens integer
---@field outputTokens integer
---@field passes integer
---@field drafted integer
---@field accepted integer
---@field tokensPerPass number
---@field tokensPerSecond number
---@field prefillSeconds number
---@field decodeSeconds number

--- The answer of `redraft.edit`; the last three of these keys come with a preview.
---@class redraft.Answer
---@field id string
---@field uri string
---@field outcome redraft.Outcome
---@field notes? string[]
---@field stats? redraft.EditStats
---@field edit? lsp.WorkspaceEdit
---@field edits? lsp.TextEdit[]
---@field version? integer

--- How far an edit is; `expected` is an estimate while decoding.
---@class redraft.EditProgress
---@field id string
---@field uri string
---@field phase redraft.Phase
---@field done integer
---@field expected integer
---@field tokensPerSecond number

---@class redraft.Partial: redraft.EditProgress
---@field text string

---@class redraft.ModelStatus
---@field name string
---@field state redraft.ModelState

---@class redraft.Status
---@field version string
---@field model redraft.ModelStatus
---@field edits redraft.EditProgress[]
---@field waiting integer
---@field documents integer
---@field warm table<string, integer>

--- How an edit ended, after how many seconds.
---@class redraft.TracedEdit: redraft.EditProgress
---@field outcome redraft.Ending
---@field reason? redraft.Reason
---@field seconds number
---@field stats? redraft.EditStats

---@class redraft.TraceText
---@field origin? string
---@field text string

---@class redraft.TracePass
---@field drafted integer
---@field seconds number
---@field text redraft.TraceText[]

---@class redraft.Trace
---@field edits redraft.TracedEdit[]
---@field passes redraft.TracePass[]
