//! Arguments of a call, read as clients really send them: numbers as text, null for what is left out, lists as one text.

use serde_json::{Map, Value};

/// The arguments of one call. Errors are sentences that the agent can act on.
pub(crate) struct Arguments(Map<String, Value>);

impl Arguments {
    pub(crate) fn of(given: Option<Map<String, Value>>) -> Self {
        Self(given.unwrap_or_default())
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// A text that has to be there, of at most `max` characters.
    pub(crate) fn text(&self, name: &str, max: usize) -> Result<String, String> {
        self.optional_text(name, max)?.ok_or_else(|| format!("{name} is missing"))
    }

    /// A text, `None` when it is left out or blank.
    pub(crate) fn optional_text(&self, name: &str, max: usize) -> Result<Option<String>, String> {
        let text = match self.value(name) {
            None => return Ok(None),
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Bool(flag)) => flag.to_string(),
            Some(_) => return Err(format!("{name} has to be a text")),
        };
        match text.chars().count() {
            0 => Ok(None),
            count if count > max => {
                Err(format!("{name} has {count} characters, at most {max} are kept; say it shorter"))
            }
            _ => Ok((!text.trim().is_empty()).then_some(text)),
        }
    }

    /// One of some words.
    pub(crate) fn word(&self, name: &str, words: &[&'static str]) -> Result<Option<&'static str>, String> {
        let Some(given) = self.optional_text(name, 80)? else { return Ok(None) };
        let given = given.trim().to_lowercase();
        let found = words.iter().copied().find(|word| *word == given);
        found.map(Some).ok_or_else(|| format!("{name} has to be one of {}", words.join(", ")))
    }

    /// A whole number within bounds.
    pub(crate) fn number(&self, name: &str, min: usize, max: usize) -> Result<Option<usize>, String> {
        let number = match self.value(name) {
            None => return Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => return Ok(None),
            Some(Value::String(text)) => text.trim().parse::<f64>().ok(),
            Some(value) => value.as_f64(),
        };
        let is_within = |number: &f64| number.fract() == 0.0 && (min as f64..=max as f64).contains(number);
        match number.filter(is_within) {
            Some(number) => Ok(Some(number as usize)),
            None => Err(format!("{name} has to be a whole number from {min} to {max}")),
        }
    }

    /// A list of texts; one text counts as a list of one.
    pub(crate) fn list(&self, name: &str, count: usize, max: usize) -> Result<Vec<String>, String> {
        let items: Vec<String> = match self.value(name) {
            None => Vec::new(),
            Some(Value::String(text)) => match serde_json::from_str::<Vec<String>>(text) {
                Ok(items) => items,
                Err(_) => vec![text.clone()],
            },
            Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
                items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            Some(_) => return Err(format!("{name} has to be a list of texts")),
        };
        let items: Vec<String> = items.into_iter().filter(|item| !item.trim().is_empty()).collect();
        if items.len() > count || items.iter().any(|item| item.chars().count() > max) {
            return Err(format!("{name}: at most {count} texts of {max} characters are kept"));
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(given: Value) -> Arguments {
        Arguments::of(given.as_object().cloned())
    }

    #[test]
    fn numbers_come_as_numbers_and_as_text() {
        for (given, wanted) in [
            (json!(5), Ok(Some(5))),
            (json!(5.0), Ok(Some(5))),
            (json!("5"), Ok(Some(5))),
            (json!(" 5 "), Ok(Some(5))),
            (json!(null), Ok(None)),
            (json!(""), Ok(None)),
            (json!(0), Err(())),
            (json!(21), Err(())),
            (json!(2.5), Err(())),
            (json!("many"), Err(())),
            (json!("NaN"), Err(())),
            (json!([5]), Err(())),
        ] {
            let read = of(json!({ "limit": given })).number("limit", 1, 20).map_err(drop);
            assert_eq!(read, wanted, "{given}");
        }
    }

    #[test]
    fn texts_words_and_lists_are_bounded_and_null_is_nothing() {
        let given = of(
            json!({"title": "x".repeat(121), "type": " Lesson ", "topicKey": null, "blank": "  ", "n": 7}),
        );
        assert!(given.text("title", 120).unwrap_err().contains("121 characters, at most 120"));
        assert_eq!(given.word("type", &["lesson"]), Ok(Some("lesson")));
        assert_eq!(given.word("type", &["spec"]), Err("type has to be one of spec".to_owned()));
        assert_eq!(given.optional_text("topicKey", 80), Ok(None));
        assert_eq!(given.text("blank", 80), Err("blank is missing".to_owned()));
        assert_eq!(given.text("n", 80), Ok("7".to_owned()));
        let files = |given: Value| of(json!({ "files": given })).list("files", 2, 5);
        assert_eq!(files(json!(["a", " ", "b"])), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(files(json!("a.rs")), Ok(vec!["a.rs".to_owned()]));
        assert_eq!(files(json!("[\"a\"]")), Ok(vec!["a".to_owned()]));
        assert!(files(json!(["a", "b", "c"])).is_err() && files(json!([1])).is_err());
        assert!(files(json!(["toolong"])).is_err());
        assert_eq!(Arguments::of(None).text("query", 9), Err("query is missing".to_owned()));
    }
}
