//! The whole C interface: calls of any function with any arguments, as long as each pointer is NULL or points to what
//! its description says.
//!
//! The input is a list of calls. They make objects, use them and free them; callbacks fail as the input says. Whatever
//! comes of it is a status or a value. At the end all is freed, and each `destroy` has been called once.

#![no_main]

mod callbacks;
mod world;

use libfuzzer_sys::fuzz_target;
use nczchunk_fuzz::Input;
use world::World;

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    let mut world = World::default();
    for _ in 0..64 {
        if input.is_empty() {
            break;
        }
        world.call(&mut input);
    }
});
