--- The wire contract: the names and shapes that client and server both know.
--- Generated from server/redraft/lsp/contract.py by `make protocol`: change it there.

---@alias redraft.Phase "waiting"|"prefill"|"decode"

---@alias redraft.Ending "applied"|"preview"|"unchanged"|"failed"|"cancelled"

---@alias redraft.ModelState "unloaded"|"loading"|"loaded"

--- Why the model was asked and yet there is no edit: `reason` of a `Refusal`.
---@alias redraft.Reason
---| "token_limit"
---| "elision"
---| "parse_broken"
---| "deletion"
---| "no_code"
---| "context"
---| "timeout"

--- The answer of `redraft.edit` when it has ended.
---@alias redraft.EditResult redraft.EditDone|redraft.EditPreview

--- The answer of `redraft.edit`.
---@alias redraft.EditAnswer redraft.EditResult|redraft.EditStarted

---@alias redraft.Scope "function"|"selection"|"file"

--- The client's settings and abilities, sent with `initialize`.
---@class redraft.InitializationOptions
--- Settings of clients that cannot be asked; the same keys as the section `redraft`.
---@field settings? table<string, any>
--- Commands the client has; `redraft.prompt` is the one the server knows.
---@field clientCommands? string[]
--- `false`: settings and actions in files of the project are ignored.
---@field trusted? boolean
--- `true`: send `redraft/status`.
---@field statusNotifications? boolean

--- The argument of `redraft.findTarget`: the place of an edit.
---@class redraft.TargetParams
--- An open document.
---@field uri string
--- The version the positions are of; another than the current one is stale.
---@field version? integer
--- The selection.
---@field range? lsp.Range
--- The cursor, where there is no `range`.
---@field position? lsp.Position
--- What may change: the function around the range's start (the range's lines, where it is in none),
--- exactly the range, or everything. Default: a selection if there is one, else the function; at a
--- cursor on an empty line outside of functions, an insertion there.
---@field scope? redraft.Scope

--- The place of an edit and the form of its answer, whatever the instruction is.
---@class redraft.EditOptions: redraft.TargetParams
--- Where the model leaves the code as it is, take its second choice.
---@field anotherVersion? boolean
--- Return the edit instead of applying it.
---@field preview? boolean
--- Send `redraft/partial` while the model writes.
---@field partial? boolean
--- Default true: answer when the edit has ended. `false`: answer at once with `EditStarted` and
--- show a message when it has ended; code actions do this.
---@field wait? boolean
--- A name for `redraft/cancel`.
---@field id? string
--- The name in the undo list and beside the progress.
---@field title? string

--- The argument of `redraft.edit`.
---@class redraft.EditParams: redraft.EditOptions
--- What to change.
---@field instruction string

--- Code that can be edited; `range` and `scope` are those to request the edit with.
---@class redraft.EditTarget
--- For the user, such as `function Cart.total`, `lines 3-7` or `the whole file`.
---@field name string
---@field range lsp.Range
---@field scope? redraft.Scope

--- The answer of `redraft.findTarget`.
---@class redraft.FoundTargets
--- Why there is nothing to edit at the place.
---@field problem? string
--- What an edit there would change: one target. Where there is a problem, what the user can choose
--- from instead.
---@field targets redraft.EditTarget[]

--- The argument of `redraft.prompt`.
---@class redraft.PromptParams: redraft.EditOptions
--- What to ask the user.
---@field question string

--- The edits that fit all that is given; without either key, all edits.
---@class redraft.CancelParams
--- The edit of this name.
---@field id? string
--- The edit of this document.
---@field uri? string

--- The answer of `redraft.cancel`.
---@class redraft.Cancelled
--- How many edits.
---@field cancelled integer

--- The argument of `redraft.warm`.
---@class redraft.WarmParams
--- An open document; without, the model is loaded and nothing prefilled.
---@field uri? string

--- The cost of an edit; times in seconds.
---@class redraft.EditStats
---@field promptTokens integer
--- Prompt tokens that were prefilled already.
---@field reusedTokens integer
---@field outputTokens integer
--- Runs of the model over a batch of tokens while decoding.
---@field passes integer
--- Tokens guessed ahead.
---@field drafted integer
--- Guessed tokens that the model confirmed.
---@field accepted integer
---@field tokensPerPass number
---@field tokensPerSecond number
---@field prefillSeconds number
---@field decodeSeconds number
--- Spent on measuring what passes cost on this machine, for this edit and later ones.
---@field calibrationSeconds number
--- The part of decodeSeconds in which a draft model read the text and guessed.
---@field draftSeconds number

--- The answer of `redraft.edit` with `wait` false.
---@class redraft.EditStarted
--- The edit's name.
---@field id string
--- Its document.
---@field uri string
---@field outcome "started"

--- A line that still uses a definition as it was before the edit.
---@class redraft.OutdatedUse
--- The line, without the white space around it, in the document after the edit.
---@field range lsp.Range
---@field text string
--- The name the definition had.
---@field definition string

--- The part of the answer that every edit that has ended has.
---@class redraft.EndedEdit
--- The edit's name.
---@field id string
--- Its document.
---@field uri string
--- Sentences for the user, such as what was left out of the prompt.
---@field notes string[]
--- Lines of the document that do not fit a definition that the edit renamed, or gave other
--- parameters.
---@field callers redraft.OutdatedUse[]
---@field stats redraft.EditStats

--- The answer of an edit that was applied or changed nothing.
---@class redraft.EditDone: redraft.EndedEdit
---@field outcome "applied"|"unchanged"

--- The answer of an edit with `preview`.
---@class redraft.EditPreview: redraft.EndedEdit
---@field outcome "preview"
--- The edit, in the richest form the client takes.
---@field edit lsp.WorkspaceEdit
--- The same as plain text edits, in the order of the document.
---@field edits lsp.TextEdit[]
--- What was to be edited. Edits outside of it add what it needs, such as imports.
---@field target lsp.Range
--- The version of the document they are for.
---@field version integer

--- `data` of the error for an edit that the model's reply did not lead to.
---@class redraft.Refusal
---@field reason redraft.Reason
---@field stats redraft.EditStats
--- The lines that the edit would leave out, where that is the reason.
---@field lost string[]
--- The edit all the same, for a user who wants to look at it and apply it anyway; null where the
--- reply makes none, or the code was changed meanwhile.
---@field withheld? redraft.EditPreview

--- The progress of an edit.
---@class redraft.EditProgress
--- The edit's name.
---@field id string
--- Its document.
---@field uri string
---@field phase redraft.Phase
--- Tokens read or written in this phase.
---@field done integer
--- Tokens in all; an estimate while decoding.
---@field expected integer
--- Speed of decoding; 0 before.
---@field tokensPerSecond number

--- The parameters of `redraft/partial`.
---@class redraft.Partial: redraft.EditProgress
--- What the model has written so far: raw, before the checks.
---@field text string

--- The model that is set, and whether it is in memory.
---@class redraft.ModelStatus
---@field name string
---@field state redraft.ModelState

--- The state of the server.
---@class redraft.Status
--- The version of redraft.
---@field version string
---@field model redraft.ModelStatus
--- The edits that run or wait.
---@field edits redraft.EditProgress[]
--- How many requests wait for the model.
---@field waiting integer
--- How many documents are open.
---@field documents integer
--- The URIs of prefilled documents, with the version that was prefilled.
---@field warm table<string, integer>

--- An edit that has ended.
---@class redraft.TracedEdit: redraft.EditProgress
---@field outcome redraft.Ending
--- Why there is no edit.
---@field reason? redraft.Reason|"stale"
--- From the request to the end.
---@field seconds number
---@field stats? redraft.EditStats

--- A stretch of a reply, all from one origin.
---@class redraft.TraceText
--- Which guess it confirmed; null: decoded without one.
---@field origin? string
---@field text string

--- One pass of the model.
---@class redraft.TracePass
--- Tokens guessed ahead.
---@field drafted integer
---@field seconds number
---@field text redraft.TraceText[]

--- The answer of `redraft.showTrace`.
---@class redraft.Trace
--- The last edits, the newest last.
---@field edits redraft.TracedEdit[]
--- The passes of the last reply.
---@field passes redraft.TracePass[]

return {
  --- Rewrite a part of a document. Takes `EditParams`, answers `EditAnswer`.
  EDIT = "redraft.edit",
  --- Say what an edit at a place would change, before there is an instruction. Takes
  --- `TargetParams`, answers `FoundTargets`.
  FIND_TARGET = "redraft.findTarget",
  --- Cancel edits. Takes `CancelParams`, answers `Cancelled`.
  CANCEL = "redraft.cancel",
  --- Load the model and prefill a document in the background. Takes `WarmParams`, answers `Status`
  --- at once.
  WARM = "redraft.warm",
  --- Report the state of the server. Answers `Status`.
  STATUS = "redraft.status",
  --- Free the model and read the settings again; the next edit loads the model. Answers `Status`.
  RELOAD = "redraft.reload",
  --- Report how the last edits ended and how the last reply was decoded. Answers `Trace`.
  SHOW_TRACE = "redraft.showTrace",
  --- A command of the client: ask the user for an instruction, then call `redraft.edit` with it.
  --- Takes `PromptParams`. Offered only to clients that name it in `clientCommands`.
  PROMPT = "redraft.prompt",
  --- To the server: as `redraft.cancel`. Carries `CancelParams`.
  CANCEL_NOTIFICATION = "redraft/cancel",
  --- To the client, for edits with `partial`: what the model has written so far. Carries `Partial`.
  PARTIAL_NOTIFICATION = "redraft/partial",
  --- To the client, where it set `statusNotifications`: after `initialized`, then whenever the
  --- model's state changes or an edit begins or ends. Carries `Status`.
  STATUS_NOTIFICATION = "redraft/status",
  --- The code action kind; an action's own kind is this, a dot and the action's name.
  KIND = "refactor.rewrite.redraft",
  --- The section of `workspace/configuration`.
  SECTION = "redraft",
  ErrorCode = {
    --- Cancelled: by the client, for another edit of the same code, or because it was closed.
    CANCELLED = -32800,
    --- Stale: `version` is not the document's, or the target was changed while the edit was
    --- computed; `data.reason` is `stale`.
    STALE = -32801,
    --- Could not be done; the message says why and what to do. Where the model was asked, `data` is
    --- a `Refusal`.
    FAILED = -32803,
  },
}
