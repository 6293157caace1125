//! Changing a key in the file: comments and order stay, and the file is whole at every moment.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;
use toml_edit::{DocumentMut, Item, TableLike, value as toml_value};

use super::generate::is_nested_in_key;
use super::{ConfigError, Origin, Problem, keys, unknown};

/// Sets keys in the file, which is made if it is not there. Nothing is written unless every value is right, and the
/// whole file as `check` reads it.
pub fn set_in_file<'a, T>(
    path: &Path,
    changes: impl IntoIterator<Item = (&'a str, &'a Value)>,
    check: impl FnOnce(&str) -> Result<T, ConfigError>,
) -> Result<T, ConfigError> {
    let text = super::text_of(path)?.unwrap_or_default();
    let edited = edit(path, &text, changes)?;
    let checked = check(&edited)?;
    replace(path, edited.as_bytes())
        .map_err(|source| ConfigError::Write { path: path.to_owned(), source })?;
    Ok(checked)
}

fn edit<'a>(
    path: &Path,
    text: &str,
    changes: impl IntoIterator<Item = (&'a str, &'a Value)>,
) -> Result<String, ConfigError> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        ConfigError::Syntax { path: path.to_owned(), message: super::one_line(&error.to_string()) }
    })?;
    let mut problems = Vec::new();
    for (name, value) in changes {
        let checked = match keys::find(name) {
            None => Err(unknown(name)),
            Some(key) => key.check(value).map_err(|reason| format!("{name}: {reason}")),
        };
        match checked {
            Ok(()) => put(document.as_table_mut(), name, to_toml(value)),
            Err(message) => problems.push(Problem { origin: Origin::File(path.to_owned()), message }),
        }
    }
    if problems.is_empty() { Ok(document.to_string()) } else { Err(ConfigError::Wrong { problems }) }
}

fn to_toml(value: &Value) -> Item {
    match value {
        Value::Bool(on) => toml_value(*on),
        Value::Number(number) => toml_value(number.as_i64().unwrap_or_default()),
        Value::String(text) => toml_value(text.as_str()),
        Value::Array(items) => {
            toml_value(items.iter().filter_map(Value::as_str).collect::<toml_edit::Array>())
        }
        other => toml_value(other.to_string()),
    }
}

/// Puts a value where the key already stands, else where it belongs.
fn put(root: &mut dyn TableLike, name: &str, item: Item) {
    if root.contains_key(name) && !root.get(name).is_some_and(Item::is_table_like) {
        return assign(root, name, item);
    }
    match name.split_once('.') {
        Some((parent, child)) => match root.get_mut(parent).and_then(Item::as_table_like_mut) {
            Some(table) => assign(table, child, item),
            None if is_nested_in_key(name) => assign(root, name, item),
            None => {
                let mut table = toml_edit::Table::new();
                table.insert(child, item);
                root.insert(parent, Item::Table(table));
            }
        },
        None => {
            // The key is a table so far: its keys go on in quotes, which makes room for the value.
            let inner = root.remove(name);
            let children = inner.as_ref().and_then(Item::as_table_like);
            for (child, value) in children.into_iter().flat_map(|table| table.iter()) {
                root.insert(&format!("{name}.{child}"), value.clone());
            }
            assign(root, name, item);
        }
    }
}

/// Replaces a value and keeps the blanks and the comment round it.
fn assign(table: &mut dyn TableLike, name: &str, mut item: Item) {
    let decor = table.get(name).and_then(Item::as_value).map(|old| old.decor().clone());
    if let (Some(decor), Some(new)) = (decor, item.as_value_mut()) {
        *new.decor_mut() = decor;
    }
    match table.get_mut(name) {
        Some(old) => *old = item,
        None => {
            table.insert(name, item);
        }
    }
}

/// Replaces the file, in a folder that is made if it is not there.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = doze_files::behind_links(path);
    fs::create_dir_all(target.parent().unwrap_or(Path::new(".")))?;
    doze_files::replace(&target, bytes, 0o600)
}
