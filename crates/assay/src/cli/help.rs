//! Help in groups: the headings of options, and the commands by what one wants to do.

/// Options of how often, where and how long is measured.
pub(crate) use assay_suites::options::MEASURING;
use clap::Command;

/// Which engines, and how they are set up.
pub(crate) const ENGINES: &str = "Engines";
/// Options of what is printed and written.
pub(crate) const OUTPUT: &str = "Output";
/// Engines in shared libraries.
pub(crate) const PLUGINS: &str = "Plugins";

/// The commands, by what one wants to do.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Measure", &["run", "plan", "advise", "age", "gate", "workload", "generate"]),
    ("Look at results", &["show", "report", "site", "compare", "plot"]),
    ("Trust engines and machine", &["verify", "isolate", "crash", "torture", "doctor"]),
    ("Engines and this program", &["list", "plugin", "completions", "man"]),
];

/// The definition of the command line with a help that shows commands in groups.
pub(crate) fn grouped(command: Command) -> Command {
    let mut groups = String::new();
    for (title, names) in GROUPS {
        groups += &format!("{title}:\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            groups += &format!("  {name:12} {about}\n");
        }
        groups.push('\n');
    }
    command.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_command_is_in_one_group() {
        let command = super::super::Cli::command();
        let mut defined: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        defined.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, defined);
        let longest = grouped.iter().map(|name| name.len()).max();
        assert!(longest <= Some(12), "names stand in a column");
        let help = super::super::definition().render_help().to_string();
        let widest = help.lines().take_while(|line| *line != "Options:").map(str::len).max();
        assert!(widest <= Some(80), "a terminal would break a word: {help}");
    }
}
