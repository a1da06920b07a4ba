//! Compiles the C++ containers of the `stl` feature, and hands the drivers the versions of the
//! engines that cargo resolved.

use std::path::Path;
use std::process::Command;

fn main() {
    versions();
    #[cfg(feature = "stl")]
    {
        println!("cargo::rerun-if-changed=src/stl/containers.cpp");
        cc::Build::new()
            .cpp(true)
            .std("c++20")
            .opt_level(3)
            .warnings(true)
            .file("src/stl/containers.cpp")
            .compile("assay_stl");
    }
}

fn versions() {
    let rustc = std::env::var_os("RUSTC").expect("cargo names the compiler");
    let output = Command::new(rustc).arg("--version").output().expect("the compiler runs");
    let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
    println!("cargo::rustc-env=ASSAY_RUSTC_VERSION={text}");

    let here = std::env::var("CARGO_MANIFEST_DIR").expect("Cargo sets it");
    // In the workspace its lock file says what is built. A published package carries the lock file
    // of its release, which other versions may stand in for.
    let workspace = Path::new(&here).join("../../Cargo.lock");
    let (lock, doubt) = match workspace.exists() {
        true => (workspace, ""),
        false => (Path::new(&here).join("Cargo.lock"), " or compatible"),
    };
    println!("cargo::rerun-if-changed={}", lock.display());
    let lock = std::fs::read_to_string(lock).expect("the package has a Cargo.lock");
    for name in [
        "canopydb",
        "dashmap",
        "fjall",
        "hashbrown",
        "heed",
        "librocksdb-sys",
        "papaya",
        "persy",
        "redb",
        "rocksdb",
        "signet-libmdbx",
        "sled",
        "surrealkv",
        "tonbo",
    ] {
        let version = resolved(&lock, name).map(|v| format!("{v}{doubt}")).unwrap_or_default();
        let name = name.to_uppercase().replace('-', "_");
        println!("cargo::rustc-env=ASSAY_VERSION_{name}={version}");
    }
}

/// The version of a direct dependency. Where the lock file holds several versions of a crate,
/// our own entry names the one that we use as `name version`.
fn resolved(lock: &str, name: &str) -> Option<String> {
    let entry = |name: &str| {
        let head = format!("name = \"{name}\"\n");
        lock.split("[[package]]").find(move |entry| entry.contains(&head))
    };
    let ours = entry(env!("CARGO_PKG_NAME"))?;
    let several = ours
        .lines()
        .find_map(|line| line.trim().strip_prefix(&format!("\"{name} "))?.split(['"', ' ']).next());
    let only = || {
        let line = entry(name)?.lines().find(|line| line.starts_with("version = "))?;
        line.split('"').nth(1)
    };
    several.or_else(only).map(str::to_string)
}
