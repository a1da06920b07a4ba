//! The types of results, by their expressions.

use crate::sql::infer::{COMPARISONS, Known};
use crate::sql::tokens::{Form, Token, closing};
use crate::types::Kind;

/// The most expressions inside of one another that are looked into.
const MOST_DEPTH: usize = 50;
/// The most queries of a statement whose results are looked at by their names.
const MOST_QUERIES: usize = 100;
/// Words that end a list of results.
const ENDS: [&str; 8] =
    ["FROM", "WHERE", "GROUP", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT"];
const LOGIC: [&str; 4] = ["AND", "OR", "NOT", "EXISTS"];

/// Functions whose result has the type of the first argument.
const OF_ARGUMENT: [&str; 13] = [
    "min",
    "max",
    "abs",
    "coalesce",
    "ifnull",
    "nullif",
    "first_value",
    "last_value",
    "lag",
    "lead",
    "nth_value",
    "likely",
    "iif",
];
const INTS: [&str; 17] = [
    "count",
    "length",
    "octet_length",
    "unixepoch",
    "instr",
    "unicode",
    "changes",
    "random",
    "row_number",
    "rank",
    "dense_rank",
    "ntile",
    "sign",
    "total_changes",
    "json_array_length",
    "last_insert_rowid",
    "pg_backend_pid",
];
const FLOATS: [&str; 13] = [
    "avg",
    "total",
    "round",
    "julianday",
    "sqrt",
    "pow",
    "power",
    "exp",
    "ln",
    "log",
    "percent_rank",
    "cume_dist",
    "pi",
];
const TEXTS: [&str; 22] = [
    "upper",
    "lower",
    "trim",
    "ltrim",
    "rtrim",
    "substr",
    "substring",
    "replace",
    "printf",
    "format",
    "hex",
    "quote",
    "typeof",
    "group_concat",
    "string_agg",
    "char",
    "date",
    "datetime",
    "strftime",
    "version",
    "current_setting",
    "set_config",
];
/// Functions whose result is a moment, and words for one.
const TIMES: [&str; 3] = ["now", "transaction_timestamp", "clock_timestamp"];
const MOMENTS: [&str; 3] = ["current_timestamp", "localtimestamp", "current_date"];
const DECIMALS: [&str; 4] = ["decimal_add", "decimal_sub", "decimal_mul", "decimal_sum"];

impl Known {
    /// Returns the types of the results, as far as they are known; `count` is how many there are.
    pub(crate) fn results(&self, tokens: &[Token<'_>], count: usize) -> Vec<Option<Kind>> {
        let mut kinds = vec![None; count];
        let list = list(tokens);
        let found = items(list);
        if found.len() == count {
            kinds = found.iter().map(|item| self.kind(item)).collect();
        } else if found.len() < count {
            // A star stands for several columns, which are known otherwise.
            let starts = found.iter().rev().take_while(|item| !is_star(item));
            for (place, item) in kinds.iter_mut().rev().zip(starts) {
                *place = self.kind(item);
            }
        }
        kinds
    }

    /// Returns the type of a result by its name, if a star may stand for it.
    pub(crate) fn starred(&self, tokens: &[Token<'_>], name: &str) -> Option<Kind> {
        let has_star = items(list(tokens)).into_iter().any(is_star);
        if has_star { self.column(name) } else { None }
    }

    /// Finds the types of results that have names, where queries are inside of others.
    pub(super) fn find_named(&mut self, tokens: &[Token<'_>]) {
        let selects = tokens.iter().enumerate().filter(|(_, token)| token.is_word("SELECT"));
        let selects: Vec<_> = selects.map(|(at, _)| at).take(MOST_QUERIES).collect();
        if selects.len() < 2 {
            return;
        }
        // Those inside come after those around them.
        for at in selects.into_iter().rev() {
            for item in items(inner_list(&tokens[at + 1..])) {
                let expression = without_name(item);
                if let Some(name) = item.last().filter(|_| expression.len() < item.len())
                    && let Some(kind) = self.kind(expression)
                {
                    self.named.insert(name.content().to_ascii_lowercase(), kind);
                }
            }
        }
    }

    /// Returns the type of an expression.
    pub(super) fn kind(&self, item: &[Token<'_>]) -> Option<Kind> {
        self.kind_within(item, 0)
    }

    /// Returns the type of an expression that is inside of others.
    fn kind_within(&self, item: &[Token<'_>], depth: usize) -> Option<Kind> {
        if depth > MOST_DEPTH {
            return None;
        }
        let depth = depth + 1;
        let is_array = match item {
            [.., open, close] if open.is_sign("[") && close.is_sign("]") => true,
            [.., last] => last.text == "[]",
            [] => false,
        };
        if is_array {
            return Some(Kind::Text);
        }
        let item = without_name(item);
        match item {
            [only] => return self.single(only),
            [table, dot, name] if dot.is_sign(".") && name.is_name() => {
                return self.column_of(&table.content(), &name.content());
            }
            [minus, number] if minus.is_sign("-") => return self.single(number),
            [] => return None,
            _ => {}
        }
        if let [.., cast, name] = item
            && cast.form == Form::Cast
        {
            return Kind::of_name(&name.content());
        }
        if item[0].is_sign("(") && closing(item, 0) == item.len() - 1 {
            let inner = &item[1..item.len() - 1];
            return match inner.first() {
                Some(first) if first.is_word("SELECT") => {
                    self.kind_within(items(list(inner)).first()?, depth)
                }
                _ => self.kind_within(inner, depth),
            };
        }
        if item[0].is_word("CASE") {
            let then = item.iter().position(|token| token.is_word("THEN"))? + 1;
            let ends = ["WHEN", "ELSE", "END"];
            let end = item[then..].iter().position(|t| ends.iter().any(|word| t.is_word(word)))?;
            return self.kind_within(&item[then..then + end], depth);
        }
        self.operation(item, depth).or_else(|| self.call(item, depth))
    }

    fn single(&self, token: &Token<'_>) -> Option<Kind> {
        match token.form {
            Form::Number if token.text.contains(['.', 'e', 'E']) && !token.text.contains('x') => {
                Some(Kind::Float)
            }
            Form::Number => Some(Kind::Int),
            Form::Text if token.text.starts_with(['x', 'X']) => Some(Kind::Bytes),
            Form::Text => Some(Kind::Text),
            Form::Parameter => {
                self.parameters.get(&token.parameter()?).map(|taken| taken.kind_here())
            }
            _ if token.is_word("true") || token.is_word("false") => Some(Kind::Bool),
            _ if MOMENTS.iter().any(|word| token.is_word(word)) => Some(Kind::Time),
            Form::Word | Form::Quoted => self.column(&token.content()),
            Form::Cast | Form::Sign => None,
        }
    }

    /// Returns the type of an expression with an operator outside of brackets.
    fn operation(&self, item: &[Token<'_>], within: usize) -> Option<Kind> {
        let mut depth = 0_usize;
        let mut operators = Vec::new();
        for (at, token) in item.iter().enumerate() {
            match token.text {
                "(" if token.form == Form::Sign => depth += 1,
                ")" if token.form == Form::Sign => depth = depth.saturating_sub(1),
                _ if depth > 0 => {}
                _ if token.form == Form::Sign && "=<>!|+-*/%".contains(token.text) => {
                    operators.push(at);
                }
                _ if LOGIC.iter().chain(&COMPARISONS).any(|word| token.is_word(word)) => {
                    return Some(Kind::Bool);
                }
                _ => {}
            }
        }
        let is = |signs: &str| operators.iter().any(|at| signs.contains(item[*at].text));
        if is("=<>!") {
            return Some(Kind::Bool);
        }
        if is("|") {
            return Some(Kind::Text);
        }
        let first = *operators.first()?;
        let sides = [&item[..first], &item[first + 1..]];
        let kinds = sides.map(|side| self.kind_within(side, within));
        let has = |kind: Kind| kinds.contains(&Some(kind));
        if has(Kind::Float) {
            Some(Kind::Float)
        } else if has(Kind::Numeric) {
            Some(Kind::Numeric)
        } else if has(Kind::Int) || has(Kind::Time) {
            Some(Kind::Int)
        } else {
            None
        }
    }

    /// Returns the type of a call of a function.
    fn call(&self, item: &[Token<'_>], within: usize) -> Option<Kind> {
        let open = item.iter().position(|token| token.is_sign("("))?;
        let name = item[open.checked_sub(1)?].content();
        let inside = &item[open + 1..closing(item, open).max(open + 1)];
        let arguments = items(inside);
        let is = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
        if is(&["cast"]) {
            let at = inside.iter().rposition(|token| token.is_word("AS"))?;
            let kind = inside.get(at + 1)?.content();
            return Kind::of_name(&kind).or_else(|| Kind::of_declared(&kind));
        }
        if is(&["sum"]) {
            return match self.kind_within(arguments.first()?, within) {
                Some(Kind::Bool) => Some(Kind::Int),
                other => other,
            };
        }
        if is(&OF_ARGUMENT) {
            let first = usize::from(is(&["iif"]));
            return arguments
                .iter()
                .skip(first)
                .find_map(|argument| self.kind_within(argument, within));
        }
        let lists: [(&[&str], Kind); 5] = [
            (&INTS, Kind::Int),
            (&FLOATS, Kind::Float),
            (&TEXTS, Kind::Text),
            (&TIMES, Kind::Time),
            (&DECIMALS, Kind::Numeric),
        ];
        lists.iter().find(|(names, _)| is(names)).map(|(_, kind)| *kind)
    }
}

/// Returns the items between commas that are outside of brackets.
pub(super) fn items<'l, 't>(list: &'l [Token<'t>]) -> Vec<&'l [Token<'t>]> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, token) in list.iter().enumerate() {
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") {
            depth = depth.saturating_sub(1);
        } else if token.is_sign(",") && depth == 0 {
            found.push(&list[start..at]);
            start = at + 1;
        }
    }
    if start < list.len() {
        found.push(&list[start..]);
    }
    found
}

/// Returns true for `*` and `t.*`.
fn is_star(item: &[Token<'_>]) -> bool {
    match item {
        [star] => star.is_sign("*"),
        [.., dot, star] => dot.is_sign(".") && star.is_sign("*"),
        [] => false,
    }
}

/// Returns the list of results that these tokens start with, up to the tables or to a bracket.
fn inner_list<'l, 't>(tokens: &'l [Token<'t>]) -> &'l [Token<'t>] {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") && depth == 0 {
            return &tokens[..at];
        } else if token.is_sign(")") {
            depth -= 1;
        } else if depth == 0 && (token.is_sign(";") || ENDS.iter().any(|word| token.is_word(word)))
        {
            return &tokens[..at];
        }
    }
    tokens
}

/// Returns the list of results: after `SELECT` up to `FROM`, or after `RETURNING`.
fn list<'l, 't>(tokens: &'l [Token<'t>]) -> &'l [Token<'t>] {
    let mut depth = 0_usize;
    let mut start = None;
    for (at, token) in tokens.iter().enumerate() {
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") {
            depth = depth.saturating_sub(1);
        } else if depth == 0 && (token.is_word("SELECT") || token.is_word("RETURNING")) {
            let distinct = tokens.get(at + 1).is_some_and(|next| next.is_word("DISTINCT"));
            start = Some(at + 1 + usize::from(distinct));
        } else if depth == 0
            && (token.is_sign(";") || ENDS.iter().any(|word| token.is_word(word)))
            && let Some(start) = start
        {
            return &tokens[start..at];
        }
    }
    start.map_or(&[], |start| &tokens[start..])
}

/// Returns an item without the name that it is given.
fn without_name<'l, 't>(item: &'l [Token<'t>]) -> &'l [Token<'t>] {
    match item {
        [rest @ .., word, name] if word.is_word("AS") && name.is_name() => rest,
        [rest @ .., last, name]
            if name.is_name()
                && (last.is_name() || last.is_sign(")") || last.form == Form::Number)
                && !name.is_word("END")
                && !LOGIC.iter().chain(&COMPARISONS).any(|word| last.is_word(word)) =>
        {
            &item[..rest.len() + 1]
        }
        _ => item,
    }
}
