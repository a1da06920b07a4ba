//! Names of entries and properties, and paths.

use crate::error::{Error, NameFault, Result};

/// The most bytes of a name.
pub const MOST_NAME_BYTES: usize = 255;

/// Returns the fault of a name, if it has one.
fn fault_of(name: &str) -> Option<NameFault> {
    match name {
        "" => Some(NameFault::Empty),
        "." | ".." => Some(NameFault::Dots),
        name if name.contains('/') => Some(NameFault::Slash),
        name if name.len() > MOST_NAME_BYTES => {
            Some(NameFault::TooLong { size_bytes: name.len(), most_bytes: MOST_NAME_BYTES })
        }
        _ => None,
    }
}

/// Refuses what is no name.
pub(crate) fn expect_name(name: &str) -> Result<()> {
    match fault_of(name) {
        None => Ok(()),
        Some(fault) => Err(Error::InvalidName { name: shown(name), fault }),
    }
}

/// Returns the start of a name, for an error.
fn shown(name: &str) -> Box<str> {
    name[..name.floor_char_boundary(MOST_NAME_BYTES)].into()
}

/// Returns the names of a path in order; a `/` between, before and after them counts once.
///
/// # Errors
/// `InvalidName` for the first that is not valid.
pub(crate) fn names_of(path: &str) -> Result<Vec<&str>> {
    let names = path.split('/').filter(|name| !name.is_empty());
    names.map(|name| expect_name(name).map(|()| name)).collect()
}

/// Refuses what is no path: a part of it between two `/` is no name.
///
/// ```
/// assert!(lode_volumes::expect_path("/app/ui").is_ok());
/// assert!(lode_volumes::expect_path("/app/../ui").is_err());
/// ```
///
/// # Errors
/// `InvalidName`.
pub fn expect_path(path: &str) -> Result<()> {
    names_of(path).map(drop)
}

/// Returns the path of a child.
pub(crate) fn child_path(parent: &str, name: &str) -> String {
    match parent {
        "/" => format!("/{name}"),
        parent => format!("{parent}/{name}"),
    }
}

/// Returns the path of an entry by the names on the way to it.
pub(crate) fn path_of_names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let path: String = names.flat_map(|name| ["/", name]).collect();
    if path.is_empty() { "/".into() } else { path }
}

/// Returns the path in its usual form: each name after one `/`, and `/` for the root.
///
/// # Errors
/// As [`names_of`].
pub(crate) fn usual_path(path: &str) -> Result<String> {
    Ok(path_of_names(names_of(path)?.into_iter()))
}

/// Returns true if a path in its usual form is `ancestor`, or below it.
pub(crate) fn is_below(path: &str, ancestor: &str) -> bool {
    ancestor == "/"
        || path.strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_name_is_refused() {
        let fault = |name: &str| match expect_name(name) {
            Err(Error::InvalidName { fault, .. }) => Some(fault),
            _ => None,
        };
        assert_eq!(fault(""), Some(NameFault::Empty));
        assert_eq!(fault("."), Some(NameFault::Dots));
        assert_eq!(fault(".."), Some(NameFault::Dots));
        assert_eq!(fault("a/b"), Some(NameFault::Slash));
        assert_eq!(fault(&"x".repeat(255)), None);
        let too_long = NameFault::TooLong { size_bytes: 256, most_bytes: 255 };
        assert_eq!(fault(&"é".repeat(128)), Some(too_long));
        assert_eq!(fault("..."), None);
    }

    #[test]
    fn paths_have_a_usual_form() {
        assert_eq!(usual_path("").expect("the root"), "/");
        assert_eq!(usual_path("//a///b/").expect("a path"), "/a/b");
        assert!(usual_path("/a/../b").is_err());
        assert_eq!(child_path("/", "a"), "/a");
        assert_eq!(child_path("/a", "b"), "/a/b");
        assert!(is_below("/a/b", "/a") && is_below("/a", "/a") && is_below("/a", "/"));
        assert!(!is_below("/ab", "/a") && !is_below("/", "/a"));
    }
}
