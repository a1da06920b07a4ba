//! Queries the tables of a directory: `query DIR SQL…`. Nothing is written to it.

use std::error::Error;
use std::process::ExitCode;

use datafusion::prelude::SessionContext;
use lode::Database;
use tokio::runtime::Builder;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(directory), queries) = (arguments.next(), arguments.collect::<Vec<_>>()) else {
        eprintln!("query: name a directory and queries");
        return ExitCode::from(2);
    };
    match run(&directory, &queries) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("query: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(directory: &str, queries: &[String]) -> Result<(), Box<dyn Error>> {
    let db = Database::open_read_only(directory)?;
    let context = SessionContext::new();
    lode_datafusion::register_tables(&context, &db)?;
    Builder::new_multi_thread().build()?.block_on(async {
        for query in queries {
            println!("{}", context.sql(query).await?.to_string().await?);
        }
        Ok(())
    })
}
