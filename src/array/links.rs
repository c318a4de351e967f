//! Where symbolic links have led. A link may lead to a directory that it is in, and several to one directory, so that to
//! follow each of them would find what is there any number of times.

use super::documents::groups_above;
use crate::alloc;
use crate::error::Result;
use crate::object::Place;

/// Where links have led, in ascending order.
#[derive(Default)]
pub(super) struct Links(Vec<u128>);

impl Links {
    /// Whether a link leads where another one has led before, or to what it is in.
    pub(super) fn have_led_to(&mut self, place: &Place, link: &str) -> Result<bool> {
        let Some(location) = place.location(link)? else { return Ok(false) };
        for above in groups_above(link) {
            if place.location(above)? == Some(location) {
                return Ok(true);
            }
        }
        let Err(at) = self.0.binary_search(&location) else { return Ok(true) };
        self.0.try_reserve(1).map_err(|_| alloc::Failed)?;
        self.0.insert(at, location);
        Ok(false)
    }
}
