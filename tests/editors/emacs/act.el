;;; act.el --- One code action in Emacs, as a user takes it  -*- lexical-binding: t; -*-

;; emacs -q --batch --load CONFIGURATION --load act.el FILE PLACE ANSWER...
;;
;; Opens FILE, connects eglot, puts point on the text PLACE, asks for code actions there, and answers
;; what Emacs asks with one ANSWER after the other.  Prints, as one JSON object, what was asked, the
;; text after the action and after one undo, and where point was; saves the file in between.

;;; Code:

(require 'eglot)
(require 'json)

(defvar act-questions nil "The questions, newest first.")

(defun act-answer (question &rest _)
  "Answer QUESTION with what the command line says, and keep the question."
  (push question act-questions)
  (or (pop command-line-args-left) (error "No answer is left for: %s" question)))

(defun act-wait (server)
  "Return when SERVER has ended all edits and said so."
  (let ((status '(:command "redraft.status" :arguments [])) (n-quiet 0))
    ;; Twice: the message about an ending follows the ending.
    (while (< n-quiet 2)
      (let ((edits (plist-get (jsonrpc-request server :workspace/executeCommand status) :edits)))
        (setq n-quiet (if (seq-empty-p edits) (1+ n-quiet) 0))
        (accept-process-output nil 0.05)))))

(defun act-text ()
  "The whole buffer."
  (buffer-substring-no-properties (point-min) (point-max)))

(defun act ()
  "Do what the command line says."
  (find-file (pop command-line-args-left))
  (call-interactively #'eglot)
  (search-forward (pop command-line-args-left))
  (undo-boundary)
  (let ((last-nonmenu-event t) ; no mouse: the actions are offered in the minibuffer
        (server (eglot-current-server)))
    (cl-letf (((symbol-function 'completing-read) #'act-answer)
              ((symbol-function 'y-or-n-p) (lambda (q) (equal "y" (act-answer q)))))
      (call-interactively #'eglot-code-actions)
      (act-wait server)))
  (let ((acted (act-text)) (line (line-number-at-pos)) (is-edited (buffer-modified-p)))
    (save-buffer)
    (undo-boundary)
    (when is-edited (undo))
    (princ (json-encode `((questions . ,(vconcat (reverse act-questions)))
                          (text . ,acted)
                          (line . ,line)
                          (undone . ,(act-text)))))))

(act)

;;; act.el ends here
