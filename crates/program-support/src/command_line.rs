//! Errors of a command line, in one line.

/// Makes one line of a command-line parser's message: its first paragraph states the error; then
/// come hints and the usage, which is left out.
pub fn one_line(rendered: &str) -> String {
    let said: Vec<_> = rendered
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .map(|line| line.trim().trim_start_matches("error: ").trim_start_matches("tip: "))
        .filter(|line| !line.is_empty())
        .collect();
    format!("{}; see --help", said.join("; ").replace(":; ", ": "))
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn hints_stay_and_usage_goes() {
        let rendered = "error: unexpected argument '--rws' found\n\n  \
                        tip: a similar argument exists: '--rows'\n\n\
                        Usage: assay run nudb [OPTIONS]\n\nFor more information, try '--help'.\n";
        let line = "unexpected argument '--rws' found; a similar argument exists: '--rows'; \
                    see --help";
        assert_eq!(one_line(rendered), line);
    }

    #[test]
    fn a_list_stands_behind_its_colon() {
        let rendered = "error: the following required arguments were not provided:\n  --config\n";
        let line = "the following required arguments were not provided: --config; see --help";
        assert_eq!(one_line(rendered), line);
    }
}
