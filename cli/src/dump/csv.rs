//! Elements as comma-separated values: a line for each, with its indices in the array.

use std::fmt::Write as _;
use std::io::Write;

use super::Dumped;
use crate::failure::Result;
use crate::output::Output;
use crate::slab;

/// Writes a line with the names of dimensions and array, and a line for each element.
pub(super) fn write(dumped: &Dumped<'_>, out: &mut Output) -> Result<()> {
    let selection = dumped.selection;
    let mut line = String::new();
    for d in 0..selection.rank() {
        push_field(&mut line, &slab::dimension_name(dumped.array, d));
        line.push(',');
    }
    push_field(&mut line, &dumped.title);
    writeln!(out, "{line}")?;
    let mut indices = vec![0; selection.rank()];
    dumped.each_text(push_field, |_, text, is_missing| {
        line.clear();
        for (d, &k) in indices.iter().enumerate() {
            let _ = write!(line, "{},", selection.index(d, k));
        }
        line.push_str(if is_missing { "" } else { text });
        writeln!(out, "{line}")?;
        advance(&mut indices, &selection.count);
        Ok(())
    })
}

/// The next indices in row-major order.
fn advance(indices: &mut [usize], count: &[usize]) {
    for (index, len) in indices.iter_mut().zip(count).rev() {
        *index += 1;
        if *index < *len {
            return;
        }
        *index = 0;
    }
}

/// Adds a field, in quotes if it needs them.
fn push_field(line: &mut String, field: &str) {
    if field.contains([',', '"', '\n', '\r']) {
        line.push('"');
        line.push_str(&field.replace('"', "\"\""));
        line.push('"');
    } else {
        line.push_str(field);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let mut line = String::new();
        for field in ["a b", "a,b", "say \"x\"", "two\nlines"] {
            push_field(&mut line, field);
            line.push(';');
        }
        assert_eq!(line, "a b;\"a,b\";\"say \"\"x\"\"\";\"two\nlines\";");
    }
}
