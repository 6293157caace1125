//! Checking a bound so that the error names the field and the bound.

use crate::WireError;

/// A `limit`: the default when not given, `invalid` when 0 or above `max`.
pub fn check_limit(field: &str, given: Option<u64>, default: usize, max: usize) -> Result<usize, WireError> {
    let Some(given) = given else { return Ok(default) };
    match usize::try_from(given) {
        Ok(limit) if (1..=max).contains(&limit) => Ok(limit),
        _ => Err(WireError::invalid(field, format!("{given} is outside 1 to {max}"))),
    }
}

/// A text of at most `max` characters.
pub fn check_chars(field: &str, text: &str, max: usize) -> Result<(), WireError> {
    // The byte length settles most texts without counting.
    if text.len() > max && text.chars().nth(max).is_some() {
        return Err(WireError::invalid(field, format!("longer than {max} characters")));
    }
    Ok(())
}

/// A list of at most `max` items.
pub fn check_count(field: &str, count: usize, max: usize) -> Result<(), WireError> {
    if count > max {
        return Err(WireError::invalid(field, format!("{count} items are more than {max}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_a_bound_is_an_error_that_names_it() {
        assert_eq!(check_limit("limit", None, 8, 100).unwrap(), 8);
        assert_eq!(check_limit("limit", Some(100), 8, 100).unwrap(), 100);
        for given in [0, 101, u64::MAX] {
            let error = check_limit("limit", Some(given), 8, 100).unwrap_err();
            assert_eq!(error.message, format!("limit: {given} is outside 1 to 100"));
        }
        assert!(check_chars("title", &"ä".repeat(120), 120).is_ok());
        let error = check_chars("title", &"ä".repeat(121), 120).unwrap_err();
        assert_eq!(error.message, "title: longer than 120 characters");
        assert_eq!(check_count("tags", 33, 32).unwrap_err().message, "tags: 33 items are more than 32");
    }
}
