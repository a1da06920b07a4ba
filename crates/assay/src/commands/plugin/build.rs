//! `assay plugin build`

use std::env;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use assay_drivers::plugin::{self, Description};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::output::{print, say};
use program_support::whole_file;
use tempfile::{NamedTempFile, TempDir};

use crate::cli::PluginBuildArgs;
use crate::files;
use crate::plugins;
use crate::plugins::folders;
use crate::plugins::known::{KNOWN, Known};

/// The interval at which the compiler and the user's interrupt are checked.
const TICK: Duration = Duration::from_millis(20);

/// A file that is in every folder of Boost's headers.
const BOOST_FILE: &str = "boost/version.hpp";

/// Builds a plugin whose source this program carries, and installs it where Assay finds it.
pub(crate) fn build(args: &PluginBuildArgs) -> Outcome {
    let known = Known::find(&args.name).ok_or_else(|| {
        let all: Vec<_> = KNOWN.iter().map(|known| known.id).collect();
        Failure::Usage(format!(
            "there is no source for a plugin {:?} here; there are {}. assay plugin new begins one",
            args.name,
            all.join(" and ")
        ))
    })?;
    let with = folder_of(&args.with, "--with")?;
    known.look(&with).map_err(|why| refused(&args.with, &why))?;
    let boost = args.boost.as_deref().map(|boost| folder_of(boost, "--boost")).transpose()?;
    let tools = Tools::look()?;
    match &boost {
        None => tools.look_for_boost()?,
        Some(boost) if boost.join(BOOST_FILE).is_file() => {}
        Some(boost) => {
            let why = format!("there is no {BOOST_FILE} in it; name another folder with --boost");
            return Err(refused(boost, &why));
        }
    }
    let folder = output_folder(args.output.as_deref())?;

    let room = Room::make(known, &with, boost.as_deref())?;
    say(&format!("compiling {}", args.name));
    room.compile(known, &tools)?;
    let built = room.path(&folders::file_name(known.id));
    let description = describe(&built, known)?;

    let library = folder.join(folders::file_name(known.id));
    fs::read(&built)
        .and_then(|bytes| whole_file::write(&library, &bytes))
        .map_err(|error| refused(&library, &format!("{error}; choose another --output")))?;
    tell(&library, &folder, &description)
}

fn refused(path: &Path, why: &str) -> Failure {
    Failure::Refused(format!("{}: {why}", path.display()))
}

/// Returns the folder that an option names.
fn folder_of(path: &Path, option: &str) -> Outcome<PathBuf> {
    let again = |why: &str| refused(path, &format!("{why}; name another folder with {option}"));
    match fs::metadata(path) {
        Err(error) => Err(again(&error.to_string())),
        Ok(found) if !found.is_dir() => Err(again("is not a directory")),
        Ok(_) => path.canonicalize().map_err(|error| again(&error.to_string())),
    }
}

/// Returns the folder for the library, in which files can be made.
fn output_folder(chosen: Option<&Path>) -> Outcome<PathBuf> {
    let folder = match chosen {
        Some(folder) => {
            files::make_directory(folder, "--output")?;
            folder.to_path_buf()
        }
        None => {
            let own = folders::all().into_iter().next().ok_or_else(|| {
                Failure::Refused(format!(
                    "there is no folder of plugins: name one with --output, or in {}",
                    folders::VARIABLE
                ))
            })?;
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o755)
                .create(&own)
                .map_err(|error| refused(&own, &format!("{error}; choose another --output")))?;
            own
        }
    };
    files::can_make_files(&folder)
        .map_err(|error| refused(&folder, &format!("{error}; choose another --output")))?;
    Ok(folder)
}

/// The tools that compile: `make` and a C++ compiler.
struct Tools {
    compiler: String,
}

impl Tools {
    fn look() -> Outcome<Self> {
        let compiler = env::var("CXX").ok().filter(|text| !text.trim().is_empty());
        let tools = Self { compiler: compiler.unwrap_or_else(|| "c++".into()) };
        starts(&mut Command::new("make"), "make", "install it (make on Debian)")?;
        let advice = "install a C++ compiler (g++ on Debian), or name one in CXX";
        starts(&mut tools.compiler_command(), &tools.compiler, advice)?;
        Ok(tools)
    }

    /// Returns the compiler's command, with the options that follow its name.
    fn compiler_command(&self) -> Command {
        let mut words = self.compiler.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        command
    }

    /// Checks that the compiler finds Boost by itself.
    fn look_for_boost(&self) -> Outcome {
        let mut command = self.compiler_command();
        command.args(["-E", "-x", "c++", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let found = command.spawn().and_then(|mut child| {
            if let Some(mut source) = child.stdin.take() {
                source.write_all(format!("#include <{BOOST_FILE}>\n").as_bytes())?;
            }
            child.wait()
        });
        match found {
            Ok(status) if status.success() => Ok(()),
            _ => Err(Failure::Refused(
                "Boost's headers are not here: install them (libboost-dev on Debian), or name \
                 their folder with --boost"
                    .into(),
            )),
        }
    }
}

/// Checks that a program can be started.
fn starts(command: &mut Command, name: &str, advice: &str) -> Outcome {
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::Refused(format!("{name} --version: {status}; {advice}"))),
        Err(error) => Err(Failure::Refused(format!("{name} cannot be started: {error}; {advice}"))),
    }
}

/// A temporary folder with all that the compiler needs. The user's folders are links in it, because
/// their names may have spaces in them.
struct Room {
    folder: TempDir,
    has_boost: bool,
}

impl Room {
    fn make(known: &Known, with: &Path, boost: Option<&Path>) -> Outcome<Self> {
        let made = tempfile::Builder::new().prefix("assay-plugin-").tempdir().and_then(|folder| {
            let own =
                [("assay_driver.h", plugin::HEADER), ("assay_driver.hpp", plugin::CPP_HEADER)];
            for (name, text) in known.files.into_iter().chain(own) {
                fs::write(folder.path().join(name), text)?;
            }
            symlink(with, folder.path().join("with"))?;
            if let Some(boost) = boost {
                symlink(boost, folder.path().join("boost-headers"))?;
            }
            Ok(folder)
        });
        let folder = made.map_err(|error| refused(&env::temp_dir(), &error.to_string()))?;
        Ok(Self { folder, has_boost: boost.is_some() })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compiles the plugin. The compiler's output is kept if it fails.
    fn compile(&self, known: &Known, tools: &Tools) -> Outcome {
        let temporary = env::temp_dir();
        let no_log = |error: &dyn std::fmt::Display| refused(&temporary, &error.to_string());
        let log = tempfile::Builder::new()
            .prefix(&format!("assay-plugin-{}-", known.id))
            .suffix(".log")
            .tempfile()
            .map_err(|error| no_log(&error))?;
        let out = || log.as_file().try_clone().map(Stdio::from).map_err(|error| no_log(&error));
        let jobs = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut make = Command::new("make");
        make.arg(format!("-j{jobs}"))
            .arg(format!("CXX={}", tools.compiler))
            .arg(format!("{}=with", known.variable))
            .arg("ASSAY_INCLUDE=.")
            .args(self.has_boost.then_some("BOOST=boost-headers"))
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(out()?)
            .stderr(out()?)
            // The process group ends as a whole when the user interrupts.
            .process_group(0);
        let interrupt = Interrupt::noted();
        let mut child =
            make.spawn().map_err(|e| Failure::Refused(format!("make cannot be started: {e}")))?;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if interrupt.came() => {
                    // The process may have ended already.
                    let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
                    let _ = child.wait();
                    return Err(Failure::Interrupted("interrupted".into()));
                }
                Ok(None) => thread::sleep(TICK),
                Err(error) => return Err(Failure::Refused(format!("make was lost: {error}"))),
            }
        };
        if status.success() { Ok(()) } else { Err(self.failure(log)) }
    }

    fn failure(&self, log: NamedTempFile) -> Failure {
        let text = fs::read(log.path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let first = first_error(&text).unwrap_or("make failed and does not say why");
        // The folder does not exist any more when the user reads this.
        let here = format!("{}/", self.folder.path().display());
        let first = first.replace(&here, "");
        match log.keep() {
            Ok((_, path)) => {
                let path = path.display();
                Failure::Refused(format!("it does not compile: {first}; the whole log: {path}"))
            }
            Err(_) => Failure::Refused(format!("it does not compile: {first}")),
        }
    }
}

/// Returns the first line of a log that names an error.
fn first_error(log: &str) -> Option<&str> {
    let lines = || log.lines().map(str::trim);
    let says = |words: &[&str]| lines().find(|line| words.iter().any(|word| line.contains(word)));
    says(&["error:", "undefined reference", "cannot find "])
        .or_else(|| says(&["***"]))
        .or_else(|| lines().rfind(|line| !line.is_empty()))
}

/// Describes the plugin that was built, as any plugin is described.
fn describe(built: &Path, known: &Known) -> Outcome<Description> {
    let wrong = |why: String| Failure::Refused(format!("what was built is no plugin: {why}"));
    let description = plugins::describe(built)?.map_err(wrong)?;
    if description.id == known.id {
        Ok(description)
    } else {
        Err(wrong(format!("its engine is {}, not {}", description.id, known.id)))
    }
}

/// Prints what was built, and what can be done with it.
fn tell(library: &Path, folder: &Path, description: &Description) -> Outcome {
    let same = |other: &PathBuf| match (other.canonicalize(), folder.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        (Err(error), _) if error.kind() == ErrorKind::NotFound => false,
        _ => other == folder,
    };
    let named = if folders::all().iter().any(same) {
        String::new()
    } else {
        format!(" --plugin {}", library.display())
    };
    let id = &description.id;
    let name = description.name();
    let version = description.version();
    print(&format!(
        "{}: {name} {version}\n\n  assay verify -e {id}{named}\n  assay run {id} -e {id}{named}\n",
        library.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_of_a_log_is_found() {
        let log = "g++ -c a.cpp\na.cpp: In function f:\na.cpp:3:1: warning: unused\n\
                   a.cpp:4:2: error: no such thing\na.cpp:5:2: error: another\nmake: *** [a] 1\n";
        assert_eq!(first_error(log), Some("a.cpp:4:2: error: no such thing"));
        let linker = "g++ -o a\nld: a.o: undefined reference to `f'\ncollect2: ld returned 1\n";
        assert_eq!(first_error(linker), Some("ld: a.o: undefined reference to `f'"));
        assert_eq!(first_error("make: *** no rule\n"), Some("make: *** no rule"));
        assert_eq!(first_error("\n"), None);
    }
}
