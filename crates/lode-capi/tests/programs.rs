//! Programs in C and C++ that use the library: compiled without a warning by each compiler that is
//! there, and run; under valgrind and with sanitizers too.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The argument of a program.
#[derive(Clone, Copy)]
enum Argument {
    None,
    EmptyDirectory,
    Word(&'static str),
}

/// A program of this crate.
#[derive(Clone, Copy)]
struct Program {
    /// Its source, from the folder of the crate.
    source: &'static str,
    argument: Argument,
    /// The last line that it prints.
    says: &'static str,
}

const WHOLE: Program = Program {
    source: "tests/c/whole.c",
    argument: Argument::EmptyDirectory,
    says: "whole: as it should be\n",
};
const MISUSE: Program =
    Program { source: "tests/c/misuse.c", argument: Argument::None, says: "misuse: refused\n" };
const WITHOUT_MEMBARRIER: Program =
    Program { argument: Argument::Word("without-membarrier"), ..MISUSE };
const CPP: Program = Program {
    source: "tests/c/whole.cpp",
    argument: Argument::EmptyDirectory,
    says: "C++: as it should be\n",
};
const VOLUMES_CPP: Program = Program {
    source: "tests/c/volumes.cpp",
    argument: Argument::EmptyDirectory,
    says: "volumes in C++: as they should be\n",
};
const BLOBS: Program = Program {
    source: "tests/c/blobs.c",
    argument: Argument::EmptyDirectory,
    says: "blobs: as they should be\n",
};
const BLOBS_CPP: Program = Program {
    source: "tests/c/blobs.cpp",
    argument: Argument::None,
    says: "blobs in C++: as they should be\n",
};
const CHANGES: Program = Program {
    source: "tests/c/changes.c",
    argument: Argument::EmptyDirectory,
    says: "changes: as they should be\n",
};
const CHANGES_CPP: Program = Program {
    source: "tests/c/changes.cpp",
    argument: Argument::EmptyDirectory,
    says: "changes in C++: as they should be\n",
};
const CITIES: Program =
    Program { source: "examples/cities.c", argument: Argument::None, says: "Bern: 134591\n" };
const SETTINGS: Program = Program {
    source: "examples/settings.c",
    argument: Argument::None,
    says: "theme: light\ntheme: dark\ntheme: light\n",
};
const VOLUMES: Program = Program {
    source: "tests/c/volumes.c",
    argument: Argument::EmptyDirectory,
    says: "volumes: as they should be\n",
};
const MISUSE_OF_VOLUMES: Program = Program {
    source: "tests/c/misuse_volumes.c",
    argument: Argument::None,
    says: "misuse of volumes: refused\n",
};
const CROSSBENCH: Program =
    Program { source: "examples/crossbench.c", argument: Argument::EmptyDirectory, says: "/s\n" };

/// The programs in C.
const IN_C: [Program; 9] =
    [WHOLE, MISUSE, VOLUMES, MISUSE_OF_VOLUMES, BLOBS, CHANGES, CITIES, SETTINGS, CROSSBENCH];

/// The programs in C++.
const IN_CPP: [Program; 4] = [CPP, VOLUMES_CPP, BLOBS_CPP, CHANGES_CPP];

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the folder with the libraries that Cargo built for this test.
fn libraries() -> PathBuf {
    let program = std::env::current_exe().expect("it is known");
    program.parent().expect("it is in a folder").to_path_buf()
}

/// Returns true if a tool can be run; says so if not.
fn is_there(tool: &str) -> bool {
    let run = Command::new(tool).arg("--version").stdout(Stdio::null()).status();
    let is_there = run.is_ok_and(|status| status.success());
    if !is_there {
        eprintln!("{tool} is not installed, so nothing is done with it");
    }
    is_there
}

/// The library that a program is linked with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Shared,
    Static,
}

/// A build of a program.
struct Build<'b> {
    compiler: &'b str,
    flags: &'b [&'b str],
    link: Link,
}

impl Build<'_> {
    /// Compiles a program into a folder; returns its path.
    fn compile(&self, program: Program, to: &Path) -> PathBuf {
        let built = to.join("program");
        let mut command = Command::new(self.compiler);
        let standard = if program.source.ends_with(".cpp") { "-std=c++20" } else { "-std=c11" };
        command.args([standard, "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-pthread"]);
        command.args(self.flags).arg("-I").arg(folder().join("include"));
        command.arg(folder().join(program.source)).arg("-o").arg(&built);
        match self.link {
            Link::Shared => {
                let rpath = format!("-Wl,-rpath,{}", libraries().display());
                command.arg("-L").arg(libraries()).args(["-llode_capi", &rpath]);
            }
            Link::Static => {
                command.arg(libraries().join("liblode_capi.a"));
                command.args(["-ldl", "-lm", "-lrt", "-lutil"]);
            }
        }
        let output = command.output().expect("the compiler is there");
        assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "", "{command:?}");
        built
    }

    /// Compiles a program and runs it, as an argument of `runner` if there is one.
    fn run(&self, program: Program, runner: &[&str]) {
        let place = tempfile::tempdir().expect("a folder");
        let built = self.compile(program, place.path());
        let mut command = match runner {
            [] => Command::new(&built),
            [tool, flags @ ..] => {
                let mut command = Command::new(tool);
                command.args(flags).arg(&built);
                command
            }
        };
        // Cargo's folders may have an older build of the library, and come first.
        command.current_dir(place.path()).env_remove("LD_LIBRARY_PATH");
        match program.argument {
            Argument::None => {}
            Argument::EmptyDirectory => {
                let directory = place.path().join("directory");
                std::fs::create_dir(&directory).expect("a folder");
                command.arg(directory);
            }
            Argument::Word(word) => {
                command.arg(word);
            }
        }
        let output = command.output().expect("it can be run");
        let said = text(&output.stdout);
        assert!(
            output.status.success() && said.ends_with(program.says),
            "{command:?}: {:?}\n{said}{}",
            output.status,
            text(&output.stderr)
        );
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn programs_in_c_run() {
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| is_there(compiler)) {
        for link in [Link::Shared, Link::Static] {
            let build = Build { compiler, flags: &["-O2"], link };
            IN_C.iter().for_each(|program| build.run(*program, &[]));
        }
        Build { compiler, flags: &["-O2"], link: Link::Shared }.run(WITHOUT_MEMBARRIER, &[]);
        let pedantic = Build { compiler, flags: &["-Wpedantic"], link: Link::Shared };
        IN_C.iter().for_each(|program| pedantic.run(*program, &[]));
    }
}

#[test]
fn programs_in_cpp_run() {
    for compiler in ["g++", "clang++"].into_iter().filter(|compiler| is_there(compiler)) {
        let build = Build { compiler, flags: &["-O2"], link: Link::Shared };
        IN_CPP.iter().for_each(|program| build.run(*program, &[]));
        // As in programs that have no exceptions, and no types at run time.
        let flags = ["-O2", "-fno-exceptions", "-fno-rtti", "-Wpedantic", "-Wshadow"];
        let build = Build { compiler, flags: &flags, link: Link::Shared };
        IN_CPP.iter().for_each(|program| build.run(*program, &[]));
    }
}

/// Returns true if a compiler can link with sanitizers, whose libraries are a package of their own.
fn can_sanitize(compiler: &str, flags: &[&str]) -> bool {
    if !is_there(compiler) {
        return false;
    }
    let place = tempfile::tempdir().expect("a folder");
    let source = place.path().join("empty.c");
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("it can be written");
    let mut command = Command::new(compiler);
    command.args(flags).args(["-x", "c"]).arg(&source).arg("-o").arg(place.path().join("empty"));
    let can = command.output().expect("the compiler is there").status.success();
    if !can {
        eprintln!("{compiler} has no sanitizers, so nothing is done with them");
    }
    can
}

#[test]
fn sanitizers_find_nothing() {
    let flags = [
        "-O1",
        "-g",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
        "-fno-omit-frame-pointer",
    ];
    for (compiler, cpp) in [("gcc", "g++"), ("clang", "clang++")] {
        if !can_sanitize(compiler, &flags) || !is_there(cpp) {
            continue;
        }
        let build = Build { compiler, flags: &flags, link: Link::Shared };
        IN_C.iter().for_each(|program| build.run(*program, &[]));
        let build = Build { compiler: cpp, flags: &flags, link: Link::Shared };
        IN_CPP.iter().for_each(|program| build.run(*program, &[]));
    }
}

#[test]
fn valgrind_finds_nothing() {
    if !is_there("valgrind") || !is_there("gcc") || !is_there("g++") {
        return;
    }
    let runner = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full"];
    let build = Build { compiler: "gcc", flags: &["-O1", "-g"], link: Link::Shared };
    IN_C.iter().for_each(|program| build.run(*program, &runner));
    let build = Build { compiler: "g++", flags: &["-O1", "-g"], link: Link::Shared };
    IN_CPP.iter().for_each(|program| build.run(*program, &runner));
}
