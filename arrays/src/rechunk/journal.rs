//! What is done of a rechunking, as an object beside the chunks of the new array: so a call that was ended, in whatever
//! way, is continued by the next.
//!
//! The new array exists once its metadata are written, which is done last. The journal says of what the array is made,
//! in which boxes, and which of them are done. It is written again after each
//! box, unless that took more than a hundredth of the time since: then it waits. So what is done again after a kill is
//! what was done in the last moments.
//!
//! Two processes may work on the same array: each does all boxes, or continues where the other was. Of those that begin
//! at the same time one makes the journal, and the others find it: they work on the same array, or are refused. Nobody
//! removes anything that another may have written. Once the place of the array is free, a mark is put beside the
//! journal. Whoever completes the array removes the mark before the temporary array, and the journal last. The other
//! finds between reading a box and writing it that the mark is gone, and ends: if it is there, what was read was there,
//! too. A journal that was written after that is removed by who wrote it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::decision::Decision;
use super::pass::Ledger;
use crate::alloc;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{self, At, Value};
use crate::object::{Storage, read_whole};

/// No journal is longer: it has two digits for 8 boxes, and the documents of the array.
const LONGEST: usize = 256 << 20;

/// What is in a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// A number that no other call has.
    pub id: String,
    /// What is rechunked, and to what: a call with another cannot continue it.
    pub of: String,
    /// The version of the object that describes the source, where it was known: a call from another source cannot
    /// continue it, though that may have the same shape.
    pub source: Option<u128>,
    /// The boxes of each pass: so many chunks along each dimension.
    pub passes: Vec<Vec<usize>>,
    /// The pass that is under way.
    pub pass: usize,
    /// The boxes of it that are done, as bits.
    pub done: Vec<u8>,
}

/// A number that no other call has.
pub(super) fn new_id() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{}.{}.{}", time.as_nanos(), std::process::id(), NUMBER.fetch_add(1, Relaxed))
}

impl Record {
    pub(super) fn new(id: &str, of: String, source: Option<u128>, passes: Vec<Vec<usize>>) -> Self {
        Record { id: id.to_owned(), of, source, passes, pass: 0, done: Vec::new() }
    }

    /// Whether a call with these can continue it.
    pub(super) fn suits(&self, of: &str, source: Option<u128>) -> bool {
        self.of == of && self.source.zip(source).is_none_or(|(then, now)| then == now)
    }

    /// Begins with a pass of so many boxes.
    pub(super) fn begin(&mut self, pass: usize, num_boxes: usize) -> Result<()> {
        if self.pass == pass && self.done.len() == num_boxes.div_ceil(8) {
            return Ok(());
        }
        let mut done = Vec::new();
        done.try_reserve_exact(num_boxes.div_ceil(8)).map_err(|_| alloc::Failed)?;
        done.resize(num_boxes.div_ceil(8), 0);
        (self.pass, self.done) = (pass, done);
        Ok(())
    }

    pub(super) fn is_done(&self, number: usize) -> bool {
        self.done.get(number / 8).is_some_and(|byte| byte >> (number % 8) & 1 == 1)
    }

    /// Whether all boxes of the last pass are done.
    pub(super) fn is_complete(&self, decision: &Decision) -> bool {
        let num_boxes = |pass: usize| decision.plan.passes.get(pass).map_or(0, |pass| pass.num_boxes);
        self.pass + 1 >= decision.plan.passes.len() && (0..num_boxes(self.pass)).all(|number| self.is_done(number))
    }

    pub(super) fn num_done(&self) -> usize {
        self.done.iter().map(|byte| byte.count_ones() as usize).sum()
    }

    fn to_text(&self) -> Result<String> {
        let mut passes = Vec::new();
        for pass in &self.passes {
            alloc::push(&mut passes, Value::numbers(pass)?)?;
        }
        let mut done = String::new();
        done.try_reserve_exact(self.done.len() * 2).map_err(|_| alloc::Failed)?;
        for byte in &self.done {
            done.extend([byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0')));
        }
        json::compact(&Value::object([
            ("nczchunk_rechunk", Value::number(1)?),
            ("id", Value::text(&self.id)?),
            ("of", Value::text(&self.of)?),
            ("source", Value::text(&self.source.map_or(String::new(), |version| version.to_string()))?),
            ("passes", Value::List(passes)),
            ("pass", Value::number(self.pass)?),
            ("done", Value::text(&done)?),
        ])?)
    }

    fn of_text(text: &[u8]) -> Result<Record> {
        let value = json::read(text)?;
        let root = At::root(&value);
        let text = |name: &'static str| Ok::<_, Error>(alloc::text(root.require(name)?.text()?)?);
        if root.require("nczchunk_rechunk")?.usize()? != 1 {
            return Err(root.unsupported("a journal of another version of nczchunk"));
        }
        let mut passes = Vec::new();
        for pass in root.require("passes")?.items()? {
            alloc::push(&mut passes, pass.usizes()?)?;
        }
        let digits = text("done")?;
        let mut done = Vec::new();
        done.try_reserve_exact(digits.len() / 2).map_err(|_| alloc::Failed)?;
        for pair in digits.as_bytes().chunks(2) {
            let byte = std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
            done.push(byte.ok_or_else(|| root.malformed("\"done\" must be hexadecimal digits"))?);
        }
        let source = text("source")?.parse().ok();
        Ok(Record { id: text("id")?, of: text("of")?, source, passes, pass: root.require("pass")?.usize()?, done })
    }

    /// The journal that a storage has by this name, if it has one.
    pub(super) fn read(storage: &Storage, name: &str) -> Result<Option<Record>> {
        let text = read_whole(&**storage, name, LONGEST)?;
        text.map(|text| Record::of_text(&text).map_err(|error| error.in_object(name))).transpose()
    }
}

/// The journal of a pass that is under way, in a storage or, if that cannot have any, nowhere.
pub(super) struct Journal<'s> {
    storage: Option<&'s Storage>,
    name: &'s str,
    mark: &'s str,
    /// The record, when it was written last, and how long that took.
    state: Mutex<(Record, Option<(Instant, Duration)>)>,
}

impl<'s> Journal<'s> {
    pub(super) fn new(storage: Option<&'s Storage>, [name, mark]: [&'s str; 2], record: Record) -> Self {
        Journal { storage, name, mark, state: Mutex::new((record, None)) }
    }

    /// Makes it: of several calls one does.
    pub(super) fn create(&self) -> Result<()> {
        let Some(storage) = self.storage else { return Ok(()) };
        storage.write_new(self.name, self.with(Record::to_text)?.as_bytes())
    }

    /// Whether the mark that is there is this journal's; `None` if there is none.
    pub(super) fn marked(&self) -> Result<Option<bool>> {
        let Some(storage) = self.storage else { return Ok(Some(true)) };
        let mark = read_whole(&**storage, self.mark, LONGEST)?;
        Ok(mark.map(|mark| self.with(|record| mark == record.id.as_bytes())))
    }

    /// Marks the place of an array that nobody has begun with.
    pub(super) fn mark(&self) -> Result<()> {
        let Some(storage) = self.storage else { return Ok(()) };
        storage.write(self.mark, self.with(|record| record.id.clone()).as_bytes())
    }

    /// Removes the mark: the array is complete.
    pub(super) fn unmark(&self) -> Result<()> {
        self.storage.map_or(Ok(()), |storage| storage.remove(self.mark))
    }

    /// Changes the record, and writes it.
    pub(super) fn change(&self, change: impl FnOnce(&mut Record) -> Result<()>) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state.0)?;
        self.write(&mut state)
    }

    pub(super) fn with<T>(&self, with: impl FnOnce(&Record) -> T) -> T {
        with(&self.state.lock().unwrap_or_else(PoisonError::into_inner).0)
    }

    fn write(&self, (record, written): &mut (Record, Option<(Instant, Duration)>)) -> Result<()> {
        let begun = Instant::now();
        if let Some(storage) = self.storage {
            storage.write(self.name, record.to_text()?.as_bytes())?;
        }
        *written = Some((Instant::now(), begun.elapsed()));
        Ok(())
    }

    /// Removes it.
    pub(super) fn remove(&self) -> Result<()> {
        let Some(storage) = self.storage else { return Ok(()) };
        storage.remove(self.name)?;
        let work = self.name.rsplit_once('/').map_or("", |(work, _)| work);
        if work.is_empty() { Ok(()) } else { storage.remove_empty(work) }
    }

    /// Removes it if it is this call's.
    pub(super) fn withdraw(&self) -> Result<()> {
        let Some(storage) = self.storage else { return Ok(()) };
        match Record::read(storage, self.name)? {
            Some(record) if self.with(|own| own.id == record.id) => self.remove(),
            _ => Ok(()),
        }
    }

    /// Removes it if it was written after another call had completed the array.
    ///
    /// # Errors
    /// `Conflict` then.
    pub(super) fn withdraw_if_late(&self) -> Result<()> {
        let checked = self.check();
        if checked.as_ref().is_err_and(|error| error.kind() == ErrorKind::Conflict) {
            self.withdraw()?;
        }
        checked
    }
}

impl Ledger for Journal<'_> {
    fn is_due(&self, number: usize) -> bool {
        self.with(|record| !record.is_done(number))
    }

    fn check(&self) -> Result<()> {
        let is_same = self.marked()? == Some(true);
        if is_same { Ok(()) } else { Err(Error::from(ErrorKind::Conflict).in_object(self.mark)) }
    }

    fn done(&self, number: usize) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(byte) = state.0.done.get_mut(number / 8) {
            *byte |= 1 << (number % 8);
        }
        match state.1 {
            Some((at, took)) if at.elapsed() < took * 100 => return Ok(()),
            _ => self.write(&mut state)?,
        }
        drop(state);
        // If so, the next box finds it.
        let _ = self.withdraw_if_late();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Memory;

    fn record(of: &str, source: Option<u128>) -> Record {
        Record::new(&new_id(), of.to_owned(), source, vec![vec![1, 2], vec![3, 4]])
    }

    #[test]
    fn what_is_done_is_read_again() {
        let storage = Storage::new(Memory::new()).unwrap();
        assert_eq!(Record::read(&storage, "a/journal").unwrap(), None);
        let mut record = record("this to \"that\"", Some(u128::MAX - 7));
        record.begin(1, 19).unwrap();
        let journal = Journal::new(Some(&storage), ["a/journal", "a/mark"], record);
        journal.change(|_| Ok(())).unwrap();
        for number in [0, 7, 8, 18] {
            journal.done(number).unwrap();
            assert!(!journal.is_due(number) && journal.is_due(number + 1 + usize::from(number == 7)));
        }
        journal.change(|_| Ok(())).unwrap();
        let mut read = Record::read(&storage, "a/journal").unwrap().unwrap();
        assert_eq!(journal.with(Record::clone), read);
        assert_eq!((read.num_done(), &read.done[..]), (4, &[0x81, 1, 4][..]));
        // The same pass goes on, and another one begins anew.
        read.begin(1, 19).unwrap();
        assert_eq!(read.num_done(), 4);
        read.begin(2, 19).unwrap();
        assert_eq!(read.num_done(), 0);
        assert!(new_id() != new_id());
    }

    #[test]
    fn a_record_is_of_one_source_as_far_as_that_is_known() {
        let known = record("x", Some(7));
        assert!(known.suits("x", Some(7)) && known.suits("x", None));
        assert!(!known.suits("x", Some(8)) && !known.suits("y", Some(7)));
        assert!(record("x", None).suits("x", Some(7)));
    }

    #[test]
    fn who_is_late_ends() {
        let storage = Storage::new(Memory::new()).unwrap();
        let names = ["journal", "mark"];
        let same = record("x", None);
        let one = Journal::new(Some(&storage), names, same.clone());
        let other = Journal::new(Some(&storage), names, same);
        assert_eq!(other.check().unwrap_err().kind(), ErrorKind::Conflict);
        one.mark().unwrap();
        one.change(|record| record.begin(0, 1)).unwrap();
        other.check().unwrap();
        one.unmark().unwrap();
        one.remove().unwrap();
        // It may write the journal once more, but that is no mark.
        other.done(0).unwrap();
        assert_eq!(other.check().unwrap_err().kind(), ErrorKind::Conflict);
        // Nor is that of a later call.
        Journal::new(Some(&storage), names, record("x", None)).mark().unwrap();
        assert_eq!(other.check().unwrap_err().kind(), ErrorKind::Conflict);
        Journal::new(None, names, record("", None)).check().unwrap();
    }

    #[test]
    fn malformed_journals_are_refused() {
        let storage = Storage::new(Memory::new()).unwrap();
        for text in ["", "{}", r#"{"nczchunk_rechunk": 2}"#, r#"{"nczchunk_rechunk": 1, "id": "", "of": 3}"#] {
            storage.write("journal", text.as_bytes()).unwrap();
            assert!(Record::read(&storage, "journal").unwrap_err().to_string().starts_with("journal: "), "{text}");
        }
    }
}
