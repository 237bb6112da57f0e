//! The lines that answer what an agent asks a person.

use serde_json::{Map, Value, json};
use tapline_timeline::{Answer, QuestionAnswer, Request};
use tapline_wire::client::{self, ElicitationOutcome, PermissionOutcome};
use tapline_wire::{Elicitation, OwnedId, Question, QuestionKind, RawValue};

/// The option by which a form is refused rather than put away.
pub(super) const DECLINE: &str = "decline";

/// The answer to a permission; none says that it was put away.
pub(super) fn permission(id: &OwnedId, request: &Request, answer: Option<&Answer>) -> Result<String, String> {
    let Some(answer) = answer else {
        return Ok(client::permission_answer(id, &PermissionOutcome::Cancelled));
    };
    let said = answer.option.as_deref().unwrap_or_default();
    let offered = request.options.iter().any(|option| option.id == said);
    if !offered {
        let ids: Vec<&str> = request.options.iter().map(|option| option.id.as_str()).collect();
        return Err(format!(
            "The agent does not offer \"{said}\". Choose one of: {}.",
            ids.join(", ")
        ));
    }
    Ok(client::permission_answer(
        id,
        &PermissionOutcome::Selected(said.into()),
    ))
}

/// The answer to a form or a page; none says that it was put away.
pub(super) fn question(
    id: &OwnedId,
    params: Option<&RawValue>,
    answer: Option<&Answer>,
) -> Result<String, String> {
    let Some(answer) = answer else {
        return Ok(client::elicitation_answer(id, &ElicitationOutcome::Cancel));
    };
    if answer.option.as_deref() == Some(DECLINE) {
        return Ok(client::elicitation_answer(id, &ElicitationOutcome::Decline));
    }
    let form = params
        .and_then(Elicitation::read)
        .ok_or("The question cannot be read.")?;
    if form.url.is_some() {
        return Ok(client::elicitation_answer(id, &ElicitationOutcome::Accept(None)));
    }
    let mut content = Map::new();
    for question in &form.questions.items {
        let given = answer.answers.iter().find(|a| a.question == question.key);
        match given
            .map(|given| value_of(question, given))
            .transpose()?
            .flatten()
        {
            Some(value) => {
                content.insert(question.key.clone().into_owned(), value);
            }
            None if question.required => return Err(format!("\"{}\" must be answered.", question.key)),
            None => {}
        }
    }
    let content = serde_json::value::to_raw_value(&content).map_err(|error| error.to_string())?;
    Ok(client::elicitation_answer(
        id,
        &ElicitationOutcome::Accept(Some(&content)),
    ))
}

/// What the answer to one question is in the form.
fn value_of(question: &Question<'_>, given: &QuestionAnswer) -> Result<Option<Value>, String> {
    let said = given
        .text
        .as_deref()
        .or_else(|| given.options.first().map(String::as_str));
    let Some(said) = said else {
        return Ok(None);
    };
    let wrong = |what: &str| format!("\"{said}\" is no {what}, and \"{}\" asks for one.", question.key);
    let value = match &question.kind {
        QuestionKind::Text { .. } | QuestionKind::Unknown => json!(said),
        QuestionKind::Number { whole: true } => {
            json!(said.trim().parse::<i64>().map_err(|_| wrong("whole number"))?)
        }
        QuestionKind::Number { whole: false } => {
            let number: f64 = said.trim().parse().map_err(|_| wrong("number"))?;
            json!(number)
        }
        QuestionKind::Boolean => match said.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "y" | "on" => json!(true),
            "false" | "no" | "n" | "off" => json!(false),
            _ => return Err(wrong("yes or no")),
        },
        QuestionKind::Choice { options, multiple } => {
            let chosen = given
                .options
                .iter()
                .map(String::as_str)
                .chain(given.text.as_deref());
            let mut values = Vec::new();
            for said in chosen {
                let known = options.iter().find(|o| o.value == said || o.label == said);
                let known = known.ok_or_else(|| {
                    let all: Vec<&str> = options.iter().map(|o| o.value.as_ref()).collect();
                    format!(
                        "\"{}\" does not offer \"{said}\". Choose among: {}.",
                        question.key,
                        all.join(", ")
                    )
                })?;
                values.push(json!(known.value));
            }
            if *multiple {
                Value::Array(values)
            } else {
                values.swap_remove(0)
            }
        }
    };
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapline_wire::{Id, OwnedRawValue};

    fn ask(schema: Value) -> OwnedRawValue {
        let params = json!({"sessionId": "s", "message": "?", "mode": "form", "requestedSchema": schema});
        RawValue::parse(&params.to_string())
            .expect("it is JSON")
            .to_owned()
    }

    fn content(params: &RawValue, answers: Value) -> Result<Value, String> {
        let answers = serde_json::from_value(answers).expect("answers");
        let answer = Answer {
            answers,
            ..Answer::default()
        };
        let line = question(&Id::Integer(1), Some(params), Some(&answer))?;
        let line: Value = serde_json::from_str(&line).expect("a frame");
        assert_eq!(line["result"]["action"], "accept");
        Ok(line["result"]["content"].clone())
    }

    #[test]
    fn a_form_is_filled_in_by_the_types_of_its_questions() {
        let form = ask(json!({"type": "object", "required": ["n"], "properties": {
            "name": {"type": "string"}, "n": {"type": "integer"}, "x": {"type": "number"}, "ok": {"type": "boolean"},
            "one": {"type": "string", "enum": ["a", "b"]},
            "many": {"type": "array", "items": {"type": "string", "enum": ["p", "q", "r"]}},
        }}));
        let all = json!([
            {"question": "name", "text": "Ann"}, {"question": "n", "text": " 3 "}, {"question": "x", "text": "0.5"},
            {"question": "ok", "options": ["yes"]}, {"question": "one", "options": ["b"]},
            {"question": "many", "options": ["p", "r"]},
        ]);
        let expected = json!({"name": "Ann", "n": 3, "x": 0.5, "ok": true, "one": "b", "many": ["p", "r"]});
        assert_eq!(content(&form, all), Ok(expected));
        let wrong = |answers| content(&form, answers).expect_err("it does not fit");
        assert!(wrong(json!([])).contains("\"n\" must be answered"));
        assert!(wrong(json!([{"question": "n", "text": "three"}])).contains("whole number"));
        let choice = wrong(json!([{"question": "n", "text": "1"}, {"question": "one", "options": ["c"]}]));
        assert!(choice.contains("Choose among: a, b"), "{choice}");
    }

    #[test]
    fn a_form_can_be_refused_and_put_away() {
        let form = ask(json!({"type": "object", "properties": {}}));
        let decline = Answer {
            option: Some(DECLINE.to_owned()),
            ..Answer::default()
        };
        let line = question(&Id::Integer(1), Some(&form), Some(&decline)).expect("a line");
        assert!(line.contains("\"decline\""));
        let line = question(&Id::Integer(1), Some(&form), None).expect("a line");
        assert!(line.contains("\"cancel\""));
    }
}
