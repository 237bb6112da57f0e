//! How much the model thinks, and how it is told.

use super::models::Model;
use super::sampling::number;
use crate::json::{Json, Number, Object, Text, object};
use crate::providers::common::{self, reasoning_budget};
use crate::providers::{Call, Log};
use crate::types::{Reasoning, Warning};

/// Decides how much the model thinks: from the level that the call asks for, then by what the model
/// can do.
pub(super) fn think(own: &mut Object, call: &Call<'_>, model: &Model, log: &mut Log) {
    let kind = |own: &Object| {
        let kind = own.get("thinking").and_then(|thinking| thinking.get("type"));
        kind.and_then(Json::as_text).cloned()
    };
    let wanted = call.options.reasoning.filter(|reasoning| reasoning.is_custom());
    if let Some(reasoning) = wanted.filter(|_| !own.contains_key("effort")) {
        let (thinking, effort) = level(reasoning, call.model, model, log);
        if !own.contains_key("thinking") {
            own.insert_some("thinking", thinking);
        }
        if effort.is_some() && kind(own).as_deref() != Some("disabled") {
            own.insert_some("effort", effort);
        }
    }
    let id = call.model;
    let thinking = "providerOptions.anthropic.thinking";
    if !model.can_rest && kind(own).as_deref() == Some("disabled") {
        if model.thinks_between_tools {
            own.insert("thinking", object! { "type": "between_tools" });
            log.warn(Warning::unsupported_because(
                thinking,
                format!(
                    "thinking cannot be disabled for {id}. Using 'between_tools' thinking, the lowest thinking \
                     setting, instead."
                ),
            ));
        } else {
            own.remove("thinking");
            log.warn(Warning::unsupported_because(
                thinking,
                format!(
                    "thinking cannot be disabled for {id}; it always uses adaptive thinking. The thinking setting \
                     has been removed. Lower 'effort' to reduce thinking."
                ),
            ));
        }
    }
    if !model.takes_budget && kind(own).as_deref() == Some("enabled") {
        let always = if model.can_rest {
            ""
        } else {
            "; it always uses adaptive thinking"
        };
        own.insert("thinking", object! { "type": "adaptive" });
        log.warn(Warning::unsupported_because(
            thinking,
            format!(
                "budget-based thinking is not supported by {id}{always}. Using adaptive thinking instead. Use \
                 'effort' to control how much the model thinks."
            ),
        ));
    }
    let effort = own.get("effort").and_then(Json::as_text).cloned();
    let Some(effort) = effort.filter(|effort| matches!(&**effort, "xhigh" | "max")) else {
        return;
    };
    let details = match kind(own).as_deref() {
        Some("disabled") if !model.can_rest_above_high => {
            format!("effort '{effort}' is not supported by {id} when thinking is disabled.")
        }
        Some("between_tools") => format!("effort '{effort}' is not supported with 'between_tools' thinking."),
        _ => return,
    };
    own.insert("effort", "high");
    log.warn(Warning::unsupported_because(
        "providerOptions.anthropic.effort",
        format!("{details} The effort has been lowered to 'high'."),
    ));
}

/// A level of reasoning as thinking and effort.
fn level(reasoning: Reasoning, id: &str, model: &Model, log: &mut Log) -> (Option<Object>, Option<Text>) {
    let mut warn = |warning| log.warn(warning);
    if reasoning == Reasoning::None {
        if model.thinks_between_tools {
            warn(Warning::compatibility(
                "reasoning",
                format!(
                    "reasoning 'none' is not supported by {id}; thinking cannot be disabled. Using \
                     'between_tools' thinking, the lowest thinking setting, instead."
                ),
            ));
            return (Some(object! { "type": "between_tools" }), None);
        }
        if !model.can_rest {
            warn(Warning::compatibility(
                "reasoning",
                format!(
                    "reasoning 'none' is not supported by {id}; it always uses adaptive thinking. Using effort \
                     'low' to minimize thinking instead."
                ),
            ));
            return (None, Some("low".into()));
        }
        return (Some(object! { "type": "disabled" }), None);
    }
    if model.thinks_adaptively {
        let mut efforts = vec![
            ("low", "low"),
            ("medium", "medium"),
            ("high", "high"),
            ("max", "max"),
        ];
        if model.has_extra_high {
            efforts.push(("xhigh", "xhigh"));
        }
        let effort = common::reasoning_effort(Some(reasoning), &efforts, None, &mut warn);
        return (
            Some(object! { "type": "adaptive", "display": "summarized" }),
            effort,
        );
    }
    let budget = reasoning_budget(reasoning, model.max_output, model.max_output, 1024.0, &mut warn);
    let thinking = object! { "type": "enabled", "budgetTokens": number(budget) };
    (Some(thinking), None)
}

/// How the model is told to think.
#[derive(Debug)]
pub(super) struct Thinking {
    pub(super) kind: Option<Text>,
    pub(super) budget: Option<Number>,
    pub(super) display: Option<Text>,
    pub(super) binding: Option<Json>,
}

impl Thinking {
    /// What the options say.
    pub(super) fn of(own: &Object) -> Self {
        let get = |key: &str| own.get("thinking").and_then(|thinking| thinking.get(key));
        let kind = get("type").and_then(Json::as_text).cloned();
        let only = |wanted: &str| kind.as_deref() == Some(wanted);
        Thinking {
            budget: get("budgetTokens")
                .and_then(Json::as_number)
                .cloned()
                .filter(|_| only("enabled")),
            display: get("display")
                .and_then(Json::as_text)
                .cloned()
                .filter(|_| only("adaptive")),
            binding: get("blockBinding").cloned(),
            kind,
        }
    }

    /// Whether the model thinks.
    pub(super) fn is_on(&self) -> bool {
        matches!(
            self.kind.as_deref(),
            Some("enabled" | "adaptive" | "between_tools")
        )
    }

    /// The member `thinking` of the body.
    pub(super) fn to_json(&self, budget: Option<Number>) -> Option<Object> {
        if self.kind.is_none() && self.binding.is_none() {
            return None;
        }
        let behavior = self
            .binding
            .as_ref()
            .and_then(|binding| binding.get("prefixMismatchBehavior"));
        Some(object! {
            "type"?: self.kind.clone(),
            "budget_tokens"?: budget,
            "display"?: self.display.clone(),
            "block_binding"?: behavior.map(|behavior| object! { "prefix_mismatch_behavior": behavior }),
        })
    }
}
