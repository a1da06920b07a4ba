//! Documents that are found by the words in them. A transaction writes a document and its words, so
//! that a search never sees one without the other.

use std::collections::{BTreeMap, BTreeSet};

use lode::{Database, KeyKind, ReadTable, Record, Records, Result, Snapshot, Value};

#[derive(Record, Debug)]
struct Document {
    #[record(key)]
    id: u32,
    title: String,
    text: String,
}

/// A word of a document. They are in the order of the words.
#[derive(Record)]
struct Word {
    #[record(key, most = 64)]
    word: String,
    #[record(key)]
    document: u32,
    count: u32,
}

struct Library {
    db: Database,
    documents: Records<Document>,
    words: Records<Word>,
}

/// The words of a text, and how often each is there.
fn words_of(text: &str) -> BTreeMap<String, u32> {
    let mut words = BTreeMap::new();
    for word in text.split(|letter: char| !letter.is_alphanumeric()) {
        // Longer ones would not be found anyway.
        if !word.is_empty() && word.len() <= 64 {
            *words.entry(word.to_lowercase()).or_default() += 1;
        }
    }
    words
}

impl Library {
    fn new() -> Result<Self> {
        let db = Database::in_memory()?;
        let documents = db.create_records(KeyKind::Hash)?;
        let words = db.create_records(KeyKind::Tree)?;
        Ok(Self { db, documents, words })
    }

    /// Writes a document in the place of the one with its number, if there is one.
    fn put(&self, document: &Document) -> Result<()> {
        self.db.transact(|transaction| {
            let documents = self.documents.within(transaction);
            let words = self.words.within(transaction);
            if let Some(old) = documents.get(document.id)? {
                for word in words_of(&old.text).keys() {
                    words.delete((word, document.id))?;
                }
            }
            for (word, count) in words_of(&document.text) {
                words.insert(&Word { word, document: document.id, count })?;
            }
            documents.upsert(document).map(drop)
        })
    }

    /// The titles of the documents that have all of these words.
    fn search(&self, wanted: &[&str]) -> Result<Vec<String>> {
        let snapshot = self.db.snapshot();
        let mut found: Option<BTreeSet<u32>> = None;
        for word in wanted {
            let with_word = self.with_word(&snapshot, word)?;
            found = Some(match found {
                None => with_word,
                Some(before) => before.intersection(&with_word).copied().collect(),
            });
        }
        let documents = self.documents.at(&snapshot);
        let found = documents.get_many(found.into_iter().flatten())?;
        Ok(found.into_iter().flatten().map(|document| document.title).collect())
    }

    fn with_word(&self, snapshot: &Snapshot, word: &str) -> Result<BTreeSet<u32>> {
        let word = word.to_lowercase();
        let words = self.words.at(snapshot);
        words.range((&word[..], 0)..=(&word[..], u32::MAX)).map(|word| Ok(word?.document)).collect()
    }

    /// The words that start so, each once: only this column of the index is read.
    fn complete(&self, start: &str) -> Result<Vec<String>> {
        let table = self.words.table();
        let column = table.schema().column("word")?;
        let mut completed: Vec<String> = Vec::new();
        let mut cursor = table.range((start, 0)..).columns([column]);
        while let Some(row) = cursor.next_row()? {
            let Value::Text(word) = row.at(column) else { continue };
            if !word.starts_with(start) {
                break;
            }
            if completed.last().is_none_or(|last| last != word) {
                completed.push(word.into());
            }
        }
        Ok(completed)
    }
}

/// Runs the example.
pub fn main() -> Result<()> {
    let library = Library::new()?;
    for (id, title, text) in [
        (1, "Trees", "A tree keeps records in order. A range of a tree is read leaf by leaf."),
        (2, "Hashes", "A hash finds a record by its key. Its records have no order."),
        (3, "Logs", "A log keeps what was done, in order, until a checkpoint."),
    ] {
        library.put(&Document { id, title: title.into(), text: text.into() })?;
    }
    println!("order: {:?}", library.search(&["order"])?);
    assert_eq!(library.search(&["order"])?, ["Trees", "Hashes", "Logs"]);
    assert_eq!(library.search(&["Order", "records"])?, ["Trees", "Hashes"]);
    assert_eq!(library.search(&["order", "missing"])?, [""; 0]);
    println!("rec…: {:?}", library.complete("rec")?);
    assert_eq!(library.complete("rec")?, ["record", "records"]);

    let text = "A hash finds what it has by its key.";
    library.put(&Document { id: 2, title: "Hashes".into(), text: text.into() })?;
    assert_eq!(library.search(&["order"])?, ["Trees", "Logs"]);
    assert_eq!(library.complete("rec")?, ["records"]);
    let word = library.words.get(("tree", 1))?.expect("it is in the text");
    println!("the first document has \"{}\" {} times", word.word, word.count);
    Ok(())
}
