//! Emacs: a block at the end of the file, between two marks, which is replaced when it is written again.
//!
//! agent-shell keeps each agent's command in a variable `agent-shell-…-acp-command`. The block goes through them once
//! agent-shell is loaded and puts `tapline wrap --` before each. Standing last in the file it sees what was set before it.

use super::{Edited, Request, lua_string};

const BEGIN: &str = ";; tapline: begin (written by `tapline setup emacs`)";
const END: &str = ";; tapline: end";

pub(super) fn block(request: &Request) -> String {
    let tapline = lua_string(&request.tapline);
    let pattern = match &request.agent {
        None => "\"\\\\`agent-shell-.+-acp-command\\\\'\"".to_owned(),
        Some(agent) => {
            let word: String = agent
                .chars()
                .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
                .collect();
            format!("\"\\\\`agent-shell-\\\\(?:.+-\\\\)?{word}\\\\(?:-.+\\\\)?-acp-command\\\\'\"")
        }
    };
    format!(
        "{BEGIN}
(with-eval-after-load 'agent-shell
  (mapatoms
   (lambda (symbol)
     (when (and (boundp symbol)
                (string-match-p {pattern} (symbol-name symbol)))
       (let ((command (symbol-value symbol)))
         (when (and (consp command)
                    (stringp (car command))
                    (not (equal (car command) {tapline})))
           (set symbol (append '({tapline} \"wrap\" \"--\") command))))))))
{END}
"
    )
}

pub(super) fn edit(text: &str, request: &Request) -> Edited {
    let block = block(request);
    let name = request
        .agent
        .clone()
        .unwrap_or_else(|| "every agent of agent-shell".to_owned());
    let mut edited = Edited {
        text: text.to_owned(),
        wrapped: Vec::new(),
        added: Vec::new(),
        already: Vec::new(),
    };
    let old = text
        .find(BEGIN)
        .and_then(|from| Some((from, from + text[from..].find(END)? + END.len())));
    match old {
        Some((from, to)) => {
            let to = to + usize::from(text[to..].starts_with('\n'));
            if text[from..to] == block {
                edited.already.push(name);
                return edited;
            }
            edited.text.replace_range(from..to, &block);
        }
        None => {
            if !text.is_empty() {
                edited
                    .text
                    .push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
            }
            edited.text.push_str(&block);
        }
    }
    edited.wrapped.push(name);
    edited
}
