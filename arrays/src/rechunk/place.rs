//! Where the journal and the temporary array are.

use super::decision::Decision;
use super::journal::{self, Journal, Record};
use super::pass::Ledger;
use super::{RechunkOptions, shown};
use crate::array::Unwritten;
use crate::error::{Error, ErrorKind, Result};
use crate::object::{Entry, Name, Storage, read_whole};

/// What a temporary name begins with, below that of the new array.
pub(super) const WORK: &str = ".nczchunk-rechunk";

const ELSEWHERE: &str = "the temporary array of the unfinished rechunking that is here is not in this storage; \
                         name the same storage as before to continue it, or remove what is unfinished";

/// Where an array of this name has what is temporary.
pub(super) fn work_of(name: &str) -> Result<Name> {
    Name::of(format_args!("{name}{}{WORK}", if name.is_empty() { "" } else { "/" }))
}

/// Where the journal and the temporary array are.
pub(super) struct Place<'a> {
    /// The new array's.
    pub(super) storage: &'a Storage,
    pub(super) name: &'a str,
    /// `None` where objects cannot be replaced: then nothing is continued.
    pub(super) journal: Option<&'a Storage>,
    pub(super) journal_name: Name,
    pub(super) mark: Name,
    /// `None` where nothing can be removed any more.
    pub(super) temporary: Option<&'a Storage>,
    pub(super) work: Name,
    /// The record's: several may have what is temporary in one storage.
    pub(super) id: String,
}

impl<'a> Place<'a> {
    pub(super) fn new(storage: &'a Storage, name: &'a str, options: &RechunkOptions<'a>) -> Result<Self> {
        let work = work_of(name)?;
        let journal_name = Name::of(format_args!("{}/journal.json", &*work))?;
        let mark = Name::of(format_args!("{}/mark", &*work))?;
        let journal = Some(storage).filter(|storage| !storage.is_archive());
        let temporary = options.temporary.or(journal);
        Ok(Place { storage, name, journal, journal_name, mark, temporary, work, id: journal::new_id() })
    }

    /// The same without a journal if the storage removes nothing: nobody could remove the journal again.
    pub(super) fn checked(mut self) -> Result<Self> {
        let Some(storage) = self.journal else { return Ok(self) };
        if !can_remove(storage, &self.work)? {
            self.temporary = self.temporary.filter(|other| !std::ptr::eq(*other, storage));
            self.journal = None;
        }
        Ok(self)
    }

    /// Where this rechunking, and no other, has what is temporary.
    pub(super) fn temporary_name(&self) -> Result<Name> {
        Name::of(format_args!("{}/{}", &*self.work, self.id))
    }

    /// An object that is there as long as the temporary array is: of that itself chunks may be missing.
    pub(super) fn begun(&self) -> Result<Name> {
        Name::of(format_args!("{}/begun", &*self.temporary_name()?))
    }

    pub(super) fn begin_temporary(&self) -> Result<()> {
        let Some(storage) = self.temporary else { return Ok(()) };
        if !can_remove(storage, &self.temporary_name()?)? {
            return Err(ErrorKind::Argument("the storage for the temporary array cannot remove objects").into());
        }
        storage.write(&self.begun()?, b"")
    }

    pub(super) fn has_temporary(&self) -> Result<bool> {
        self.temporary.map_or(Ok(false), |storage| Ok(storage.object_len(&self.begun()?)?.is_some()))
    }

    /// Makes sure that chunks may be written by the journal that is there: marks the array as begun, unless a call has
    /// done so. Calls may do this at the same time.
    pub(super) fn prepare(&self, new: &Unwritten, decision: &Decision, record: &Record) -> Result<()> {
        let (Some(storage), is_in_two) = (self.journal, decision.cuts.len() == 2) else { return Ok(()) };
        let journal = self.journal(record.clone());
        match journal.marked()? {
            Some(true) if is_in_two && !self.has_temporary()? => {
                return Err(Error::from(ErrorKind::Argument(ELSEWHERE)).in_object(shown(self.name)));
            }
            Some(true) => return Ok(()),
            // Where two journals were written at the same moment.
            Some(false) => return Err(Error::from(ErrorKind::Conflict).in_object(&*self.mark)),
            None => {}
        }
        if let Err(error) = new.check_room(storage, self.name, &self.work) {
            // What is in the way may be the chunks of a call that has marked it meanwhile.
            return if journal.marked()? == Some(true) { Ok(()) } else { Err(error) };
        }
        // Before the mark: who finds that without this is in another storage.
        if is_in_two {
            self.begin_temporary()?;
        }
        journal.mark()?;
        if new.is_written(storage, self.name)? {
            // Another call has done all of it since then, and has removed its mark.
            journal.unmark()?;
            self.remove_temporary()?;
            return Err(Error::from(ErrorKind::Conflict).in_object(shown(self.name)));
        }
        Ok(())
    }

    pub(super) fn remove_temporary(&self) -> Result<()> {
        let (Some(storage), name) = (self.temporary, self.temporary_name()?) else { return Ok(()) };
        remove_below(storage, &name)?;
        storage.remove_empty(&self.work)
    }

    /// After an error: removes what is temporary if nobody can continue, as there is no journal, or the mark is gone,
    /// with which all that was temporary went.
    pub(super) fn give_up(&self) {
        let is_over = self.journal.is_none_or(|storage| {
            let mark = read_whole(&**storage, &self.mark, 1 << 10);
            mark.is_ok_and(|mark| mark.as_deref() != Some(self.id.as_bytes()))
        });
        if is_over {
            let _ = self.remove_temporary();
        }
    }

    pub(super) fn journal(&self, record: Record) -> Journal<'_> {
        Journal::new(self.journal, [&self.journal_name, &self.mark], record)
    }

    /// Removes the temporary array and the journal, in an order in which nobody is misled.
    pub(super) fn clean(&self, journal: &Journal<'_>) -> Result<()> {
        journal.unmark()?;
        self.remove_temporary()?;
        // What cannot be listed or removed is in nobody's way.
        let _ = self.journal.map(|storage| storage.remove_unfinished(self.name));
        let _ = self.journal.map(|storage| remove_empty_below(storage, &self.work));
        journal.remove()
    }
}

/// Whether a storage removes objects, as far as it says.
fn can_remove(storage: &Storage, prefix: &str) -> Result<bool> {
    match storage.remove(&Name::of(format_args!("{prefix}/none"))?) {
        Err(error) if error.kind() == ErrorKind::ReadOnly => Ok(false),
        removed => removed.map(|()| true),
    }
}

/// Removes all objects below a prefix, and what killed writers have left half written.
pub(super) fn remove_below(storage: &Storage, prefix: &str) -> Result<()> {
    // Where it is in the way, whoever meets it says so.
    let _ = storage.remove_unfinished(prefix);
    remove_listed(storage, prefix)
}

fn remove_listed(storage: &Storage, prefix: &str) -> Result<()> {
    let (mut objects, mut prefixes) = (Vec::new(), Vec::new());
    storage.list(prefix, &mut |last, entry| {
        match entry {
            Entry::Object => objects.push(format!("{prefix}/{last}")),
            Entry::Prefix => prefixes.push(format!("{prefix}/{last}")),
        }
        Ok(())
    })?;
    objects.iter().try_for_each(|object| storage.remove(object))?;
    prefixes.iter().try_for_each(|prefix| remove_listed(storage, prefix))?;
    storage.remove_empty(prefix)
}

/// The boxes of a pass.
pub(super) struct Boxes<'j> {
    pub(super) journal: &'j Journal<'j>,
    /// If they are read from the temporary array.
    pub(super) temporary: Option<&'j Place<'j>>,
}

impl Ledger for Boxes<'_> {
    fn is_due(&self, number: usize) -> bool {
        self.journal.is_due(number)
    }

    fn check(&self) -> Result<()> {
        self.journal.check()?;
        // Whoever removes a temporary array begins with this: without it, chunks may have been read as fill values.
        match self.temporary {
            Some(place) if !place.has_temporary()? => {
                Err(Error::from(ErrorKind::NotFound("temporary array")).in_object(&*place.begun()?))
            }
            _ => Ok(()),
        }
    }

    fn done(&self, number: usize) -> Result<()> {
        self.journal.done(number)
    }
}

/// Removes the directories in one that have nothing in them.
fn remove_empty_below(storage: &Storage, prefix: &str) -> Result<()> {
    let mut prefixes = Vec::new();
    storage.list(prefix, &mut |last, entry| {
        if entry == Entry::Prefix {
            prefixes.push(format!("{prefix}/{last}"));
        }
        Ok(())
    })?;
    prefixes.iter().try_for_each(|prefix| storage.remove_empty(prefix))
}
