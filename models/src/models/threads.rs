//! Threads of a team do each work once at most, it has ended when the call returns, and none is left when the team is.

use std::sync::atomic::{AtomicU8, Ordering::SeqCst};

use super::Exclusive;
use crate::Model;
use crate::threads::{Team, Threads};

pub(super) const MODELS: &[Model] = &[
    Model("threads/of-a-call", None, || calls(2, 1, None)),
    Model("threads/of-a-team", None, || calls(2, 2, Some(Team::new()))),
    Model("threads/three-of-a-team", Some(2), || calls(3, 2, Some(Team::new()))),
    Model("threads/panic", None, panic),
];

/// What the others of a call do: each has a cell of its own.
struct Others {
    cells: [Exclusive; 2],
    /// How many have begun. It is not the model's, so that it orders nothing.
    begun: AtomicU8,
}

impl Others {
    fn new() -> Self {
        Others { cells: [Exclusive::new(), Exclusive::new()], begun: AtomicU8::new(0) }
    }

    fn work(&self) {
        self.cells[usize::from(self.begun.fetch_add(1, SeqCst))].change();
    }

    /// Checks that so many at most have begun, and that they have ended.
    fn check(&self, most: usize) {
        let begun = usize::from(self.begun.load(SeqCst));
        assert!(begun <= most);
        assert!(self.cells[..begun].iter().all(|cell| cell.look() == 1));
    }
}

fn calls(most: usize, calls: usize, team: Option<Team>) {
    let threads = Threads::new(most, team.as_ref());
    for _ in 0..calls {
        let (own, others) = (Exclusive::new(), Others::new());
        threads.run(most, &|| others.work(), || _ = own.change(), &|| panic!("nothing fails"));
        assert_eq!(own.look(), 1);
        others.check(most - 1);
    }
    drop(team);
    assert_eq!(libc::threads_running(), 0);
}

/// What ends a call's own work does not end the others'.
fn panic() {
    let (team, failed, others) = (Team::new(), Exclusive::new(), Others::new());
    let own = || panic!("on purpose");
    Threads::new(2, Some(&team)).run(2, &|| others.work(), own, &|| _ = failed.change());
    assert_eq!(failed.look(), 1);
    others.check(1);
}
