//! Queries about things that no database of Lode has: they have no rows, whatever they look like.

use crate::sql::tokens::{Token, closing};

/// Tables of PostgreSQL's catalogue about such things.
const TABLES: [&str; 24] = [
    "pg_cast",
    "pg_collation",
    "pg_event_trigger",
    "pg_foreign_data_wrapper",
    "pg_foreign_server",
    "pg_foreign_table",
    "pg_inherits",
    "pg_language",
    "pg_operator",
    "pg_partitioned_table",
    "pg_policy",
    "pg_proc",
    "pg_publication",
    "pg_publication_rel",
    "pg_publication_namespace",
    "pg_rewrite",
    "pg_seclabel",
    "pg_sequence",
    "pg_statistic_ext",
    "pg_subscription",
    "pg_trigger",
    "pg_ts_config",
    "pg_ts_dict",
    "pg_user_mapping",
];

/// Returns a query of the same columns without rows, if the first table of a query is about things
/// that do not exist.
pub(crate) fn empty_result(tokens: &[Token<'_>]) -> Option<String> {
    if !tokens.first()?.is_word("SELECT") {
        return None;
    }
    let from = at_depth(tokens, "FROM")?;
    let mut at = from + 1;
    let mut names = 0;
    // The tables up to the first join or condition: one of them is enough.
    while let Some(token) = tokens.get(at).filter(|token| token.is_name() || token.is_sign(",")) {
        let ends = ["WHERE", "JOIN", "LEFT", "INNER", "ORDER", "UNION", "CROSS"];
        if ends.iter().any(|end| token.is_word(end)) {
            return None;
        }
        let next = tokens.get(at + 1);
        if token.is_word("pg_catalog") && next.is_some_and(|next| next.is_sign(".")) {
            at += 2;
            continue;
        }
        if TABLES.iter().any(|table| token.is_word(table)) {
            let parameters = tokens.iter().filter_map(Token::parameter).max();
            return Some(of_columns(&tokens[1..from], parameters));
        }
        names += 1;
        if names > 8 {
            return None;
        }
        at += 1;
    }
    None
}

/// Returns the place of a word outside of brackets.
fn at_depth(tokens: &[Token<'_>], word: &str) -> Option<usize> {
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].is_word(word) {
            return Some(at);
        }
        at = if tokens[at].is_sign("(") { closing(tokens, at) + 1 } else { at + 1 };
    }
    None
}

/// Returns a query without rows that has columns of these names, and parameters up to a number.
fn of_columns(list: &[Token<'_>], parameters: Option<usize>) -> String {
    let mut columns = Vec::new();
    let mut at = 0;
    let mut start = 0;
    while at <= list.len() {
        let ends = list.get(at).is_none_or(|token| token.is_sign(","));
        if ends && start < at {
            let last = &list[at - 1];
            let name = if last.is_name() { last.content() } else { "?column?".into() };
            columns.push(format!("CAST(NULL AS TEXT) AS \"{}\"", name.replace('"', "\"\"")));
        }
        if ends {
            start = at + 1;
        }
        let opens = list.get(at).is_some_and(|token| token.is_sign("("));
        at = if opens { closing(list, at) + 1 } else { at + 1 };
    }
    let taken = parameters.map_or_else(String::new, |last| format!(" AND ?{last} IS NULL"));
    format!("SELECT {} WHERE 0{taken}", columns.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::tokens::tokens;

    #[test]
    fn queries_about_what_does_not_exist_keep_their_columns() {
        let source =
            "SELECT pol.polname, array(select 1), x AS \"a \"\"b\" FROM pg_catalog.pg_policy pol
                      WHERE pol.polrelid = '7' ORDER BY 1";
        let expected = "SELECT CAST(NULL AS TEXT) AS \"polname\", CAST(NULL AS TEXT) AS \
                        \"?column?\", CAST(NULL AS TEXT) AS \"a \"\"b\" WHERE 0";
        assert_eq!(empty_result(&tokens(source)).as_deref(), Some(expected));
        let source = "SELECT tgname FROM pg_trigger WHERE tgrelid = $2 OR $1";
        let expected = "SELECT CAST(NULL AS TEXT) AS \"tgname\" WHERE 0 AND ?2 IS NULL";
        assert_eq!(empty_result(&tokens(source)).as_deref(), Some(expected));
        let source = "SELECT c.oid FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i";
        assert!(empty_result(&tokens(source)).is_some());
        for other in [
            "SELECT 1 FROM pg_class c LEFT JOIN pg_inherits i ON 1",
            "SELECT (SELECT 1 FROM pg_policy) FROM pg_class",
            "DELETE FROM pg_policy",
            "SELECT",
            "SELECT 1",
        ] {
            assert_eq!(empty_result(&tokens(other)), None, "{other}");
        }
    }
}
