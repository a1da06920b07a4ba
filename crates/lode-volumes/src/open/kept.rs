//! The contents of properties in memory, which threads read while one of them changes them.
//!
//! A version counts the changes, and is odd during one. A reader copies what there is and looks at
//! the version before and after. So a change costs no allocation, and a reader writes nothing that
//! other threads read. (A sequence lock, with the fences of Boehm: Can Seqlocks Get Along With
//! Programming Language Memory Models?, MSPC 2012, section 4.)

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering, fence};

use arc_swap::ArcSwapOption;

use crate::clock::Moment;
use crate::kind::Kind;
use crate::value::ValueRef;

/// The most bytes of a value that is kept; longer ones are always read from the table.
const MOST_KEPT_BYTES: usize = 4 << 10;

/// Looks at a version during a change before the thread yields.
const SPINS: u32 = 64;

/// The content of a property.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Content<'c> {
    Absent,
    Kept {
        value: ValueRef<'c>,
        expires: Moment,
    },
    /// A value that is too long to be kept.
    InTable {
        expires: Moment,
    },
}

impl<'c> Content<'c> {
    pub(crate) fn of(value: ValueRef<'c>, expires: Moment) -> Self {
        if Self::keeps(value.size_bytes()) {
            Self::Kept { value, expires }
        } else {
            Self::InTable { expires }
        }
    }

    /// Returns true if a value of `size_bytes` is kept.
    pub(crate) fn keeps(size_bytes: usize) -> bool {
        size_bytes <= MOST_KEPT_BYTES
    }

    /// Returns the moment at which the property expires; `None` if it never does.
    pub(crate) fn expires(&self) -> Option<Moment> {
        match self {
            Self::Absent => None,
            Self::Kept { expires, .. } | Self::InTable { expires } => Some(*expires),
        }
    }
}

/// The number of changes of a property. Two equal versions are of the same content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version(u64);

/// The form of a content: the tag of its value's type, or one of these, and above it how many bytes
/// the value has.
#[derive(Clone, Copy)]
struct Form(u64);

impl Form {
    const ABSENT: Self = Self(0);
    const IN_TABLE: Self = Self(0xff);

    fn of(content: &Content<'_>) -> Self {
        match content {
            Content::Absent => Self::ABSENT,
            Content::InTable { .. } => Self::IN_TABLE,
            Content::Kept { value, .. } => {
                Self(value.kind() as u64 | (value.size_bytes() as u64) << 8)
            }
        }
    }

    fn tag(self) -> u8 {
        self.0 as u8
    }

    fn size_bytes(self) -> usize {
        (self.0 >> 8) as usize
    }
}

/// A property's content.
pub(crate) struct Kept {
    version: AtomicU64,
    form: AtomicU64,
    expires: AtomicI64,
    /// The bytes of a value that has no more than this.
    word: AtomicU64,
    /// Room for those of a longer one.
    words: ArcSwapOption<Box<[AtomicU64]>>,
}

thread_local! {
    /// A buffer for the copy of a long value, before the value is lent.
    static COPY: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Kept {
    pub(crate) fn new(content: Content<'_>) -> Self {
        let kept = Self {
            version: AtomicU64::new(0),
            form: AtomicU64::new(Form::ABSENT.0),
            expires: AtomicI64::new(0),
            word: AtomicU64::new(0),
            words: ArcSwapOption::empty(),
        };
        kept.change(content);
        kept
    }

    /// Lets `read` see what it is, and returns its version too.
    #[inline]
    pub(crate) fn read<T>(&self, read: impl FnOnce(Content<'_>) -> T) -> (T, Version) {
        let mut long = None;
        let (version, form, expires, word) = loop {
            let version = self.begin();
            let form = Form(self.form.load(Ordering::Relaxed));
            let expires = Moment(self.expires.load(Ordering::Relaxed));
            let word = self.word.load(Ordering::Relaxed).to_le_bytes();
            let is_copied = form.size_bytes() <= word.len()
                || self.copy(
                    form.size_bytes(),
                    long.get_or_insert_with(|| COPY.try_with(Cell::take).unwrap_or_default()),
                );
            if self.is_still(version) && is_copied {
                break (version, form, expires, word);
            }
        };
        let bytes = long.as_deref().filter(|_| form.size_bytes() > word.len()).unwrap_or(&word);
        let content = match Kind::of_tag(form.tag()) {
            None if form.tag() == Form::IN_TABLE.tag() => Content::InTable { expires },
            None => Content::Absent,
            Some(kind) => ValueRef::of_bytes(kind, &bytes[..form.size_bytes()])
                .map_or(Content::InTable { expires }, |value| Content::Kept { value, expires }),
        };
        let done = read(content);
        if let Some(copied) = long {
            // In a thread that is ending there may be none any more.
            let _ = COPY.try_with(|kept| kept.set(copied));
        }
        (done, version)
    }

    /// Returns the moment at which the property expires; `None` if it never does.
    pub(crate) fn expires(&self) -> Option<Moment> {
        loop {
            let version = self.begin();
            let form = Form(self.form.load(Ordering::Relaxed));
            let expires = Moment(self.expires.load(Ordering::Relaxed));
            if self.is_still(version) {
                return (form.tag() != Form::ABSENT.tag()).then_some(expires);
            }
        }
    }

    /// Waits until no change is under way.
    #[inline]
    fn begin(&self) -> Version {
        let mut spins = 0;
        loop {
            let version = self.version.load(Ordering::Acquire);
            if version.is_multiple_of(2) {
                return Version(version);
            }
            if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }

    /// Returns true if what was read since [`begin`](Self::begin) is what was there.
    #[inline]
    fn is_still(&self, version: Version) -> bool {
        fence(Ordering::Acquire);
        self.version.load(Ordering::Relaxed) == version.0
    }

    /// Returns true if the property is still of this version.
    pub(crate) fn is_of(&self, version: Version) -> bool {
        self.version.load(Ordering::Acquire) == version.0
    }

    /// Copies the bytes of a long value; returns false if it finds fewer, since a change is under
    /// way.
    fn copy(&self, size_bytes: usize, copied: &mut Vec<u8>) -> bool {
        let words = self.words.load();
        let words = words.as_ref().and_then(|words| words.get(..size_bytes.div_ceil(8)));
        let Some(words) = words else { return false };
        copied.resize(words.len() * 8, 0);
        for (bytes, word) in copied.as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.load(Ordering::Relaxed).to_le_bytes();
        }
        true
    }

    /// Replaces the content. No other thread may change it at the same time.
    pub(crate) fn change(&self, content: Content<'_>) {
        let size_bytes = match content {
            Content::Kept { value, .. } => value.size_bytes(),
            Content::Absent | Content::InTable { .. } => 0,
        };
        let room = self.other_room(size_bytes);
        self.alone(|| {
            if let Some(words) = room {
                self.words.store(words);
            }
            if let Content::Kept { value, .. } = content {
                value.with_bytes(|bytes| self.write(bytes));
            }
            self.form.store(Form::of(&content).0, Ordering::Relaxed);
            if let Some(expires) = content.expires() {
                self.expires.store(expires.0, Ordering::Relaxed);
            }
        });
    }

    /// Lets the value, which is there, expire at another moment. No other thread may change it at
    /// the same time.
    pub(crate) fn set_expires(&self, expires: Moment) {
        self.alone(|| self.expires.store(expires.0, Ordering::Relaxed));
    }

    /// Calls `change`, during which readers wait.
    fn alone(&self, change: impl FnOnce()) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        change();
        self.version.store(version + 2, Ordering::Release);
    }

    /// Returns other room for a value of `size_bytes`, if there is too little or much more.
    fn other_room(&self, size_bytes: usize) -> Option<Option<Arc<Box<[AtomicU64]>>>> {
        let wanted = if size_bytes > 8 { size_bytes.div_ceil(8) } else { 0 };
        let room = self.words.load().as_ref().map_or(0, |words| words.len());
        let words = || Arc::new((0..wanted).map(|_| AtomicU64::new(0)).collect());
        (room < wanted || wanted * 4 < room).then(|| (wanted > 0).then(words))
    }

    fn write(&self, bytes: &[u8]) {
        if let Some(few) = first_word(bytes) {
            return self.word.store(few, Ordering::Relaxed);
        }
        let words = self.words.load();
        let Some(words) = &*words else { return };
        let (whole, rest) = bytes.as_chunks();
        for (word, bytes) in words.iter().zip(whole) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        if let (Some(last), Some(rest)) = (words.get(whole.len()), first_word(rest)) {
            last.store(rest, Ordering::Relaxed);
        }
    }

    /// Returns the bytes of the value and of room for a longer one, apart from the struct's own.
    pub(crate) fn size_bytes(&self) -> usize {
        self.words.load().as_ref().map_or(0, |words| words.len() * 8)
    }
}

/// Returns bytes as a word, filled up with zeros; `None` if they do not fit.
fn first_word(bytes: &[u8]) -> Option<u64> {
    let mut word = [0; 8];
    word.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(u64::from_le_bytes(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    fn owned(kept: &Kept) -> Option<(Value, Moment)> {
        kept.read(|content| match content {
            Content::Kept { value, expires } => Some((value.to_value(), expires)),
            Content::Absent | Content::InTable { .. } => None,
        })
        .0
    }

    #[test]
    fn values_of_all_lengths_come_back() {
        let kept = Kept::new(Content::Absent);
        assert_eq!(kept.expires(), None);
        let text = "ä".repeat(MOST_KEPT_BYTES / 2);
        for length in [0, 2, 6, 8, 10, 16, 100, MOST_KEPT_BYTES, 24, 18, 4] {
            let value = ValueRef::Text(&text[..length]);
            kept.change(Content::of(value, Moment(length as i64)));
            assert_eq!(owned(&kept), Some((value.to_value(), Moment(length as i64))));
            assert!(kept.size_bytes() >= if length > 8 { length } else { 0 });
            assert!(kept.size_bytes() <= 4 * length + 32, "{length}: {}", kept.size_bytes());
        }
        kept.change(Content::of(ValueRef::F64(-0.5), Moment::NEVER));
        assert_eq!(owned(&kept), Some((Value::F64(-0.5), Moment::NEVER)));
        let longer = vec![1; MOST_KEPT_BYTES + 1];
        kept.change(Content::of(ValueRef::Blob(&longer), Moment(7)));
        let (is_in_table, _) =
            kept.read(|content| content == Content::InTable { expires: Moment(7) });
        assert!(is_in_table);
        assert_eq!(kept.expires(), Some(Moment(7)));
        kept.change(Content::Absent);
        assert_eq!((kept.expires(), kept.size_bytes()), (None, 0));
    }

    #[test]
    fn a_value_may_be_read_while_another_is_lent() {
        let outer = Kept::new(Content::Absent);
        let inner = Kept::new(Content::Absent);
        let first = "a".repeat(100);
        let second = "b".repeat(50);
        outer.change(Content::of(ValueRef::Text(&first), Moment::NEVER));
        inner.change(Content::of(ValueRef::Text(&second), Moment::NEVER));
        outer.read(|content| {
            assert_eq!(owned(&inner), Some((Value::Text(second.into()), Moment::NEVER)));
            let expected = Content::Kept { value: ValueRef::Text(&first), expires: Moment::NEVER };
            assert_eq!(content, expected);
        });
    }

    #[test]
    fn versions_differ_after_every_change() {
        let kept = Kept::new(Content::Absent);
        let ((), before) = kept.read(|_| ());
        assert!(kept.is_of(before));
        kept.change(Content::Absent);
        assert!(!kept.is_of(before));
    }

    /// Writes values of one byte repeated, each expiring at that moment, while readers check them.
    #[test]
    fn readers_never_see_two_changes_at_once() {
        const SEEN: u32 = 300;
        let kept = Kept::new(Content::Absent);
        let lengths = [3, 8, 9, 64, 700, 4000];
        let read_often = || {
            let mut last = 0;
            let mut seen = 0;
            while seen < SEEN {
                kept.read(|content| {
                    let Content::Kept { value: ValueRef::Blob(bytes), expires } = content else {
                        return;
                    };
                    assert!(expires.0 >= last, "a change was undone");
                    seen += u32::from(expires.0 > last);
                    last = expires.0;
                    let byte = last as u8;
                    assert!(bytes.iter().all(|other| *other == byte), "{byte}: {bytes:?}");
                    assert_eq!(bytes.len(), lengths[last as usize % lengths.len()]);
                });
            }
        };
        std::thread::scope(|scope| {
            let readers: [_; 2] = std::array::from_fn(|_| scope.spawn(read_often));
            for at in 1.. {
                let value = vec![at as u8; lengths[at as usize % lengths.len()]];
                kept.change(Content::of(ValueRef::Blob(&value), Moment(at)));
                if readers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                    break;
                }
            }
        });
    }
}
