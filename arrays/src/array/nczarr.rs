//! netCDF-C's own metadata of groups: which dimensions, arrays and groups each has.

use super::documents::{self, V2_ARRAY, V2_ATTRIBUTES, V2_GROUP};
use super::list;
use crate::alloc;
use crate::dataset::{GroupDimension, Node};
use crate::error::Result;
use crate::json::Value;
use crate::object::Storage;
use crate::zarr;

/// Writes netCDF-C's own metadata of all groups of a storage, whose arrays were created as
/// [`ArrayFormat::NcZarr`](crate::ArrayFormat::NcZarr): the lengths of dimensions, which of them are unlimited, and the
/// names of arrays and groups. Without these metadata no dimension is unlimited.
///
/// `is_unlimited` receives the name of an array and the number of one of its dimensions. `dimensions` are dimensions of
/// groups, each with the path of its group, such as those that no array has. Any other dimension of an array belongs to
/// the outermost group that has an array with it. An array has a dimension of a group around its own if the names are
/// equal, both are unlimited or neither is, and the lengths are equal; an unlimited one that is shorter is extended. Of
/// several such groups it is the innermost one.
///
/// Call this after all arrays were created: netCDF-C sees only the arrays that its metadata list, so
/// [`Array::create_in`](crate::Array::create_in) refuses to add arrays to these groups, and
/// [`Array::resize`](crate::Array::resize) to change the lengths of these dimensions. netCDF-C can do both. Each
/// document is replaced atomically. After an error, some are written and some are not.
///
/// # Errors
/// Those of listing the storage, that of a member that cannot be read, `ReadOnly`, `OutOfMemory`, and those of the
/// storage.
pub fn write_netcdf_groups(
    storage: &Storage,
    is_unlimited: &dyn Fn(&str, usize) -> bool,
    dimensions: Vec<(&str, GroupDimension)>,
) -> Result<()> {
    let nodes = list(storage, "", true)?;
    if let Some(error) = nodes.iter().find_map(Node::error) {
        return Err(error.clone());
    }
    let mut arrays = alloc::collected(nodes.iter().filter(|node| !node.is_group()))?;
    // As long as the nodes, whose names are added.
    let mut dimensions: Vec<(&str, GroupDimension)> = dimensions;
    // Those of outer groups first, for theirs are the dimensions of inner ones.
    arrays.sort_unstable_by_key(|node| (node.name().matches('/').count(), node.name()));
    for array in arrays {
        let mut references = Vec::new();
        for (d, len) in array.shape().iter().copied().enumerate() {
            let name = array.dimension_name(d).unwrap_or_default();
            let wanted = (group_of(array), len, is_unlimited(array.name(), d));
            let group = define(&mut dimensions, name, wanted)?;
            let slash = if group.is_empty() { "" } else { "/" };
            alloc::push(&mut references, Value::text_of(format_args!("/{group}{slash}{name}"))?)?;
        }
        documents::change(storage, array.name(), V2_ATTRIBUTES, V2_ARRAY, |all| {
            zarr::set_netcdf_array(all, references)
        })?;
    }
    for group in nodes.iter().filter(|node| node.is_group()) {
        let own = dimensions.iter().filter(|(of, _)| *of == group.name()).map(|(_, dimension)| dimension);
        let members = |is_group: bool| {
            let all = nodes.iter().filter(move |node| !node.name().is_empty() && group_of(node) == group.name());
            all.filter(move |node| node.is_group() == is_group).map(last_part)
        };
        documents::change(storage, group.name(), V2_ATTRIBUTES, V2_GROUP, |all| {
            zarr::set_netcdf_group(all, own, members(false), members(true))
        })?;
    }
    documents::change(storage, "", V2_ATTRIBUTES, V2_GROUP, zarr::set_netcdf_superblock)
}

/// The group that a dimension of an array belongs to, which is added to it if it is new.
fn define<'n>(
    dimensions: &mut Vec<(&'n str, GroupDimension)>,
    name: &str,
    (group, len, is_unlimited): (&'n str, usize, bool),
) -> Result<&'n str> {
    let of_this = dimensions.iter_mut().find(|(of, dimension)| *of == group && dimension.name == name);
    if let Some((_, dimension)) = of_this {
        // Arrays of HDF5 may differ in the length of an unlimited dimension.
        dimension.len = dimension.len.max(len);
        dimension.is_unlimited |= is_unlimited;
        return Ok(group);
    }
    let outer = dimensions.iter_mut().filter(|(of, dimension)| {
        let is_around = of.is_empty() || group.strip_prefix(of).is_some_and(|rest| rest.starts_with('/'));
        let is_as_long = dimension.len == len || is_unlimited && dimension.len < len;
        is_around && is_as_long && (&*dimension.name, dimension.is_unlimited) == (name, is_unlimited)
    });
    let innermost = outer.max_by_key(|(of, _)| of.len());
    if let Some((of, dimension)) = innermost {
        dimension.len = len;
        return Ok(of);
    }
    alloc::push(dimensions, (group, GroupDimension { name: alloc::text(name)?, len, is_unlimited }))?;
    Ok(group)
}

/// The name of the group that a node is in.
fn group_of(node: &Node) -> &str {
    node.name().rsplit_once('/').map_or("", |(group, _)| group)
}

/// The name of a node in its group.
fn last_part(node: &Node) -> &str {
    node.name().rsplit_once('/').map_or(node.name(), |(_, last)| last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::group_dimensions;
    use crate::array::{Array, ArrayFormat, Description, create_group};
    use crate::element::ElementType;
    use crate::error::ErrorKind;
    use crate::hyperslab::Hyperslab;
    use crate::object::{Memory, read_whole};

    #[test]
    fn of_the_groups_around_an_array_that_define_a_dimension_the_innermost_counts() {
        let storage = Storage::new(Memory::new()).unwrap();
        let description = Description::new(&[5], ElementType::Int).with_format(ArrayFormat::NcZarr);
        Array::create_in(&storage, "g/h/v", &description.with_dimension_names(&["t"])).unwrap();
        let t = |len| GroupDimension { name: "t".to_owned(), len, is_unlimited: true };
        write_netcdf_groups(&storage, &|_, _| true, vec![("", t(3)), ("g", t(4))]).unwrap();
        let found = ["", "g", "g/h"].map(|group| group_dimensions(&storage, group).unwrap());
        assert_eq!(found, [vec![t(3)], vec![t(5)], vec![]]);
    }

    #[test]
    fn dimensions_are_those_of_the_outermost_group_and_are_unlimited() {
        let storage = Storage::new(Memory::new()).unwrap();
        create_group(&storage, "", ArrayFormat::NcZarr, "", &[("title", "x".into())]).unwrap();
        let create = |name: &str, shape: &[usize], names: &[&str]| {
            let description = Description::new(shape, ElementType::Int).with_format(ArrayFormat::NcZarr);
            let array = Array::create_in(&storage, name, &description.with_dimension_names(names)).unwrap();
            array.write(&Hyperslab::all(), &vec![7; shape.iter().product()]).unwrap();
        };
        create("g/h/u", &[4, 2], &["time", "n"]);
        create("g/s", &[], &[]);
        create("gg", &[5], &["time"]);
        create("t", &[5, 3], &["time", "lat"]);
        create("g/w", &[5], &["time"]);
        let is_unlimited = |_: &str, d: usize| d == 0;
        let alone = |name: &str| GroupDimension { name: name.to_owned(), len: 9, is_unlimited: false };
        write_netcdf_groups(&storage, &is_unlimited, vec![("g", alone("alone"))]).unwrap();
        let text = |name: &str| String::from_utf8(read_whole(&*storage, name, 4096).unwrap().unwrap()).unwrap();
        let flat = |name: &str| text(name).split_whitespace().collect::<String>();
        let root = r#"{"dimensions":{"time":{"size":5,"unlimited":1},"lat":3},"arrays":["gg","t"],"groups":["g"]}"#;
        assert!(flat(".zattrs").contains(root), "{}", flat(".zattrs"));
        assert!(flat(".zattrs").contains(r#""title":"x""#) && flat(".zattrs").contains("_nczarr_superblock"));
        assert!(flat("g/h/.zattrs").contains(r#"{"time":{"size":4,"unlimited":1},"n":2},"arrays":["u"],"groups":[]}"#));
        assert!(flat("g/.zattrs").contains(r#"{"dimensions":{"alone":9},"arrays":["s","w"],"groups":["h"]}"#));
        assert!(flat("g/h/u/.zattrs").contains(r#""dimension_references":["/g/h/time","/g/h/n"]"#));
        assert!(flat("g/w/.zattrs").contains(r#""dimension_references":["/time"]"#));
        assert!(flat("g/s/.zattrs").contains(r#""dimension_references":[],"scalar":1"#));
        let nodes = list(&storage, "", true).unwrap();
        for node in nodes.iter().filter(|node| !node.is_group()) {
            let unlimited: Vec<_> = (0..node.shape().len()).map(|d| node.is_unlimited(d)).collect();
            assert_eq!(unlimited, (0..node.shape().len()).map(|d| d == 0).collect::<Vec<_>>(), "{}", node.name());
            let array = Array::open_in(&storage, node.name(), crate::Access::Read).unwrap();
            assert!(array.read::<i32>(&Hyperslab::all()).unwrap().iter().all(|value| *value == 7));
        }
        let description = Description::new(&[5], ElementType::Int).with_format(ArrayFormat::NcZarr);
        let more = Array::create_in(&storage, "more", &description.with_dimension_names(&["time"])).err().unwrap();
        assert!(matches!(more.kind(), ErrorKind::Unsupported(_)), "{more}");
    }
}
