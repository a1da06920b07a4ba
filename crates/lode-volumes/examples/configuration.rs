//! A configuration store: defaults that come with a program, read-only, under the settings of a
//! user. Run it with `cargo run --release -p lodedb-volumes --example configuration`.

use lode_volumes::{Access, Mount, Options, Result, Storage, StorageEntry, Volume};

/// The settings that a program is installed with.
const DEFAULTS: &str = r#"
{"path":"/ui","properties":{"theme":{"text":"light"},"scale":{"f64":1.0}}}
{"path":"/ui/toolbar","properties":{"visible":{"u8":1}}}
{"path":"/network","properties":{"port":{"u16":8080},"host":{"text":"localhost"}}}
"#;

fn main() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("configuration-{}", std::process::id()));
    install(&folder.join("defaults"))?;

    let defaults = Options::new().name("defaults").open_read_only(folder.join("defaults"))?;
    let user = Options::new().name("user").open(folder.join("user"))?;
    let settings = Storage::new();
    settings.mount("/", Mount::new(&user).priority(1))?;
    settings.mount("/", Mount::new(&defaults).access(Access::ReadOnly))?;

    let ui = settings.entry("/ui")?.expect("the defaults have it");
    show("as installed", &ui)?;

    // A write goes to the user's volume, in which the entry is made.
    ui.set("theme", "dark")?;
    ui.set("scale", 1.25f64)?;
    show("as the user wants it", &ui)?;
    assert_eq!(user.root().links()?.count(), 1, "what was not changed is not copied");

    // What the user takes back is as installed again.
    ui.remove_property("theme")?;
    show("with the default theme", &ui)?;

    drop((ui, settings));
    user.close()?;
    defaults.close()?;
    std::fs::remove_dir_all(&folder).expect("nothing has it open");
    Ok(())
}

/// Makes the volume that comes with the program.
fn install(directory: &std::path::Path) -> Result<()> {
    let volume = Volume::open(directory)?;
    volume.import("/", &mut DEFAULTS.as_bytes())?;
    volume.close()
}

fn show(what: &str, entry: &StorageEntry) -> Result<()> {
    println!("{what}:");
    for (name, value) in entry.properties()? {
        println!("  {}/{name} = {value}", entry.path());
    }
    Ok(())
}
