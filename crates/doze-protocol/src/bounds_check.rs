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
    }
}
