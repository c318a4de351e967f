//! Opens an array and reads a map from it: the sea surface temperatures of January, every tenth row and column.
//!
//! ```text
//! cargo run --example open_array data/coads_sst.zarr
//! ```

use nczchunk::{Access, Array, Hyperslab, Result};

fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "coads_sst.zarr".to_owned());
    let array = Array::open(path, "", Access::Read)?;
    let map = Hyperslab::new(&[0, 5, 5], &[1, 9, 18]).with_stride(&[1, 10, 10]);
    let values: Vec<f32> = array.read(&map)?;
    // North first.
    for row in values.chunks(18).rev() {
        for value in row {
            // Land is -1e34.
            if *value < -1e33 { print!("    -") } else { print!("{value:5.1}") }
        }
        println!();
    }
    Ok(())
}
