//! The 54 production caches at Twitter in March 2020 as workloads, from the figures that were
//! published of them.
//!
//! `figures.csv` is made of the table `stat/2020Mar.md` of github.com/twitter/cache-trace, licensed
//! under CC BY 4.0 (J. Yang, Y. Yue, K. V. Rashmi: A large scale analysis of hundreds of in-memory
//! cache clusters at Twitter, OSDI 2020). A field is empty where no figure was published. `modify`
//! is the share of cas, incr and prepend; `get` includes gets.

/// The figures, a line for each cache.
const FIGURES: &str = include_str!("figures.csv");

/// The front of a cache's name.
const FRONT: &str = "twitter:";

/// The number of caches.
const COUNT: usize = 54;

/// The most records, and the most bytes of them.
const MOST_RECORDS: f64 = 1e6;
const MOST_STORED_BYTES: f64 = 1e9;

/// The most operations, and the most bytes that they write.
const MOST_OPERATIONS: f64 = 1e6;
const MOST_WRITTEN_BYTES: f64 = 2e9;

/// The seconds of a week, for which the caches were observed.
const WEEK_S: f64 = 604_800.0;

/// Returns the text of a cache's workload, if the name is of one, such as `twitter:12`; or the
/// reason why there is no workload of it.
pub(super) fn text(name: &str) -> Option<Result<String, String>> {
    let number = name.strip_prefix(FRONT)?;
    let found = number.parse().ok().filter(|number| (1..=COUNT).contains(number));
    Some(match found {
        None => Err(format!("{name:?}: there are {FRONT}1 to {FRONT}{COUNT}")),
        Some(number) => match Cache::of(number) {
            Some(cache) => Ok(cache.text()),
            None => Err(format!(
                "{name}: of this cache nothing but its misses was published; choose another"
            )),
        },
    })
}

/// The figures of a cache.
struct Cache {
    number: usize,
    key_bytes: f64,
    value_bytes: f64,
    requests_per_s: f64,
    requests_per_key: f64,
    one_hit_percent: f64,
    /// Shares of all requests.
    new_keys: f64,
    get: f64,
    set: f64,
    modify: f64,
    delete: f64,
    /// The share of reads that found nothing, and the exponent of Zipf's law, if published.
    misses: Option<f64>,
    exponent: Option<f64>,
}

impl Cache {
    /// Returns a cache's figures; none if hardly any was published.
    fn of(number: usize) -> Option<Self> {
        let fields: Vec<_> = FIGURES.lines().nth(number)?.split(',').collect();
        let field = |at: usize| fields.get(at)?.parse::<f64>().ok();
        let get = field(8)?;
        let modify = field(11)?;
        let delete = field(12)?;
        Some(Self {
            number,
            key_bytes: field(1)?,
            value_bytes: field(2)?,
            requests_per_s: field(3)?,
            requests_per_key: field(4)?,
            one_hit_percent: field(5)?,
            new_keys: field(6)? / 100.0,
            get,
            // The published shares leave out kinds below one in a hundred.
            set: (1.0 - get - modify - delete).max(0.0),
            modify,
            delete,
            misses: field(7),
            exponent: field(13),
        })
    }

    /// Returns the workload's file.
    fn text(&self) -> String {
        let bytes = self.key_bytes + self.value_bytes;
        let week = self.requests_per_s * WEEK_S / self.requests_per_key;
        let records = week.min(MOST_RECORDS).min(MOST_STORED_BYTES / bytes).max(1.0).round();
        let writes = (self.set + self.modify).max(1e-6);
        let operations =
            MOST_OPERATIONS.min(MOST_WRITTEN_BYTES / (writes * self.value_bytes.max(8.0))).round();
        let key = match self.key_bytes {
            size if size >= 16.0 => format!("{{ type = \"text\", bytes = {size} }}"),
            size => format!("{{ type = \"bytes\", bytes = {} }}", size.max(8.0)),
        };
        let value = self.value_bytes.max(8.0);
        let value_note = if self.value_bytes < 8.0 {
            format!("# {} on average; 8 are the fewest of a value here", self.value_bytes)
        } else {
            "# the mean; more was not published".into()
        };
        let insert = self.new_keys.min(self.set);
        let missing = self.get * self.misses.unwrap_or(0.0);
        let mix = [
            ("read", self.get - missing),
            ("missing", missing),
            ("insert", insert),
            ("upsert", self.set - insert),
            ("read_modify_write", self.modify),
            ("delete", self.delete),
        ];
        let mix = mix.map(|(kind, share)| (kind, (share * 10_000.0).round() / 100.0));
        let mix: Vec<_> = mix
            .iter()
            .filter(|(_, share)| *share > 0.0)
            .map(|(kind, share)| format!("{kind} = {share}"))
            .collect();
        let choose = match self.exponent {
            Some(exponent) if exponent > 0.0 => format!("{{ zipfian = {exponent} }}"),
            Some(_) => "\"uniform\"".into(),
            None => "\"uniform\"                     # no exponent was published".into(),
        };
        let number = self.number;
        let rate = self.requests_per_s;
        let one_hit = self.one_hit_percent;
        format!(
            "# Cache {number} of 54 at Twitter in March 2020, from figures of \
             github.com/twitter/cache-trace\n\
             # (J. Yang, Y. Yue, K. V. Rashmi, OSDI 2020), licensed under CC BY 4.0. Times to live \
             are left out.\n\
             title = \"Twitter cache {number}\"\n\
             \n\
             [records]\n\
             count = {records}                       # of the {week:.0} keys of a week\n\
             key = {key}\n\
             value = {{ constant = {value} }}          {value_note}\n\
             \n\
             [[phase]]\n\
             name = \"serve\"\n\
             threads = [1, 4]\n\
             operations = {operations}\n\
             mix = {{ {} }}\n\
             choose = {choose}\n\
             # {one_hit} % of the keys were requested once; to arrive as they did: rate = {rate}\n",
            mix.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::super::spec::Kind;
    use super::*;

    #[test]
    fn each_cache_is_a_workload_or_says_why_not() {
        assert!(text("documents.toml").is_none());
        for number in 1..=COUNT {
            let found = text(&format!("twitter:{number}")).expect("a cache");
            let Ok(text) = found else {
                assert_eq!(number, 5, "{found:?}");
                continue;
            };
            let spec = file::parse(&text).unwrap_or_else(|fault| panic!("{fault}: {text}"));
            assert_eq!(spec.title, format!("Twitter cache {number}"));
            assert!(text.contains("CC BY 4.0"));
            assert!(text.lines().all(|line| line.len() <= 110), "{text}");
        }
        for wrong in ["twitter:0", "twitter:55", "twitter:", "twitter:x"] {
            let why = text(wrong).expect("a name of a cache").expect_err("there is none");
            assert!(why.contains("twitter:1 to twitter:54"), "{why}");
        }
    }

    #[test]
    fn figures_become_shares_of_operations() {
        let text = text("twitter:12").expect("a cache").expect("its figures");
        let spec = file::parse(&text).expect("a workload");
        let phase = &spec.phases[0];
        let share = |kind| (phase.mix[kind as usize] * 1e4).round() / 1e4;
        assert_eq!(share(Kind::Insert), 0.7945, "new keys, of 80 % sets");
        assert_eq!(share(Kind::Upsert), 0.0055);
        assert_eq!(share(Kind::Missing), 0.0012, "0.58 % of 20 % reads");
    }
}
