//! Shapes as rows write them: `[.., m, k] [n, k] [n] -> [.., m, n]` has one shape for each argument, and the output's. What the
//! dimensions are for is not said here.
//!
//! A name has one extent wherever it is, `2d` twice that of `d`, a number its own, and `..` are any dimensions, the same
//! wherever they are. With a `+` after it, an extent is not 0. `, ids < n` at the end says that ids are below the extent of `n`.

use super::shape::Shapes;

/// One pattern of the shapes of an op's arguments, to make shapes of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern(&'static str);

/// A dimension that a pattern names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name, without its factor.
    pub name: &'static str,
    /// The least extent: 1 where the pattern says that the dimension is not empty, else 0.
    pub least: usize,
    /// The greatest factor with which the name stands: 2 for `2d`.
    pub factor: usize,
}

impl Pattern {
    pub(super) const fn new(pattern: &'static str) -> Pattern {
        Pattern(pattern)
    }

    fn args(self) -> impl Iterator<Item = &'static str> {
        let args = self.0.split_once(" -> ").map_or("", |(args, _)| args);
        args.split_inclusive(']')
    }

    /// The dimensions that the arguments have by name, each once, in the order in which they come.
    pub fn names(self) -> Vec<Name> {
        let mut names: Vec<Name> = vec![];
        for dim in self.args().flat_map(dims).filter(|dim| !dim.starts_with("..")) {
            let (factor, name) = factor(dim.trim_end_matches('+'));
            let least = usize::from(dim.ends_with('+'));
            match names.iter_mut().find(|known| known.name == name) {
                _ if name.is_empty() => {}
                Some(known) => {
                    (known.least, known.factor) = (known.least.max(least), known.factor.max(factor))
                }
                None => names.push(Name { name, least, factor }),
            }
        }
        names
    }

    /// Whether arguments have any number of dimensions in some place, and the least extent of those.
    pub fn rest(self) -> Option<usize> {
        let rest = self.args().flat_map(dims).filter(|dim| dim.starts_with(".."));
        rest.map(|dim| usize::from(dim.ends_with('+'))).max()
    }

    /// The shape of each argument, where the names have these extents and `..` stands for `rest`.
    pub fn shapes(self, extent: impl Fn(&str) -> usize, rest: &[usize]) -> Vec<Vec<usize>> {
        let shape = |arg| {
            let extents = dims(arg).flat_map(|dim| match factor(dim.trim_end_matches('+')) {
                (_, "..") => rest.to_vec(),
                (own, "") => vec![own],
                (factor, name) => vec![factor * extent(name)],
            });
            extents.collect()
        };
        self.args().map(shape).collect()
    }

    /// The shape of the argument after those of `shapes`, if it follows from theirs.
    pub(crate) fn following(self, shapes: &[Vec<usize>]) -> Option<Vec<usize>> {
        let mut known = Extents::default();
        let fits = self
            .args()
            .zip(shapes)
            .all(|(arg, shape)| known.bind_all(arg, shape));
        let next = self.args().nth(shapes.len()).filter(|_| fits)?;
        let mut shape = vec![];
        for dim in dims(next) {
            match factor(dim.trim_end_matches('+')) {
                (_, "..") => shape.extend_from_slice(known.rest?),
                (own, "") => shape.push(own),
                (factor, name) => shape.push(factor * known.of(name)?),
            }
        }
        Some(shape)
    }
}

/// Whether a text is a pattern of the shapes of `count` arguments, with the bound of ids where there are such.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check(pattern: &'static str, count: usize, ids: bool) -> Result<(), String> {
    let wrong = |why: String| {
        Err(format!(
            "the pattern `{pattern}` of its shapes {why}, as in `[.., n] [n] -> [.., n]`"
        ))
    };
    let Some((args, output)) = pattern.split_once(" -> ") else {
        return wrong("lacks ` -> ` before the shape of the output".to_owned());
    };
    let (output, bound) = match output.split_once(", ids < ") {
        Some((output, bound)) => (output, Some(bound)),
        None => (output, None),
    };
    let shapes: Vec<&str> = args.split_inclusive(']').collect();
    if shapes.len() != count {
        return wrong(format!("has {} shapes for {count} arguments", shapes.len()));
    }
    for shape in shapes.iter().chain([&output]) {
        let inner = shape
            .trim()
            .strip_prefix('[')
            .and_then(|shape| shape.strip_suffix(']'));
        let one = |dim: &str| {
            let name = dim.strip_suffix('+').unwrap_or(dim);
            name == ".." || !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let dims = |inner: &str| inner.is_empty() || inner.split(", ").all(one);
        let rests = shape.matches("..").count();
        if !inner.is_some_and(dims) || rests > 1 {
            return wrong(format!("has `{}`, which is not a shape", shape.trim()));
        }
    }
    let names = Pattern(pattern).names();
    let known = |name: &str| name.is_empty() || names.iter().any(|known| known.name == name);
    let new = |dim: &str| match dim {
        ".." => Pattern(pattern).rest().is_none(),
        _ => !known(factor(dim).1),
    };
    match (dims(output).find(|dim| new(dim)), bound) {
        (Some(dim), _) => wrong(format!("has `{dim}` in the output, which no argument has")),
        (None, Some(bound)) if bound.is_empty() || !known(bound) => {
            wrong(format!("has ids below `{bound}`, which no argument has"))
        }
        (None, None) if ids => {
            wrong("does not say below what the ids are: it ends in `, ids < n`".to_owned())
        }
        (None, _) => Ok(()),
    }
}

/// What the pattern makes of the shapes; `None` where they do not fit.
pub(super) fn fit(pattern: &str, shapes: &[&[usize]]) -> Option<Shapes> {
    let (args, output) = pattern.split_once(" -> ")?;
    let (output, bound) = match output.split_once(", ids < ") {
        Some((output, name)) => (output, Some(name)),
        None => (output, None),
    };
    let mut extents = Extents::default();
    let args: Vec<&str> = args.split_inclusive(']').collect();
    let fits = args.len() == shapes.len()
        && args
            .iter()
            .zip(shapes)
            .all(|(arg, shape)| extents.bind_all(arg, shape));
    if !fits {
        return None;
    }
    Some(Shapes {
        output: dims(output).flat_map(|dim| extents.all(dim)).collect(),
        bound: bound.and_then(|name| extents.of(name)),
    })
}

/// The dimensions of one shape of a pattern.
fn dims(shape: &str) -> impl Iterator<Item = &str> {
    let inner = shape.trim().trim_matches(['[', ']']);
    inner.split(", ").filter(|dim| !dim.is_empty())
}

/// A dimension's factor and name: 2 and `d` of `2d`.
fn factor(dim: &str) -> (usize, &str) {
    let name = dim.trim_start_matches(|c: char| c.is_ascii_digit());
    (dim[..dim.len() - name.len()].parse().unwrap_or(1), name)
}

/// What is known of the dimensions so far.
#[derive(Default)]
struct Extents<'p, 's> {
    named: Vec<(&'p str, usize)>,
    rest: Option<&'s [usize]>,
}

impl<'p, 's> Extents<'p, 's> {
    fn of(&self, name: &str) -> Option<usize> {
        let found = self.named.iter().find(|(known, _)| *known == name);
        found.map(|(_, extent)| *extent)
    }

    /// The extents that a dimension of the output pattern gives: one, or any number for `..`.
    fn all(&self, dim: &str) -> Vec<usize> {
        if dim == ".." {
            return self.rest.unwrap_or_default().to_vec();
        }
        let (factor, name) = factor(dim);
        vec![factor * self.of(name).unwrap_or(1)]
    }

    fn bind_all(&mut self, arg: &'p str, shape: &'s [usize]) -> bool {
        let dims: Vec<&str> = dims(arg).collect();
        let Some(rest) = dims.iter().position(|dim| dim.starts_with("..")) else {
            return dims.len() == shape.len() && dims.iter().zip(shape).all(|(dim, n)| self.bind(dim, *n));
        };
        let last = dims.len() - rest - 1;
        if shape.len() < rest + last {
            return false;
        }
        let (before, after) = shape.split_at(rest);
        let (between, after) = after.split_at(after.len() - last);
        let named = dims[..rest]
            .iter()
            .zip(before)
            .chain(dims[rest + 1..].iter().zip(after));
        let mut named = named.map(|(dim, n)| (*dim, *n));
        named.all(|(dim, n)| self.bind(dim, n))
            && *self.rest.get_or_insert(between) == between
            && !(dims[rest].ends_with('+') && between.contains(&0))
    }

    fn bind(&mut self, dim: &'p str, extent: usize) -> bool {
        let (factor, name) = factor(dim.trim_end_matches('+'));
        if dim.ends_with('+') && extent == 0 || !extent.is_multiple_of(factor) {
            return false;
        }
        if name.is_empty() {
            return extent == factor;
        }
        let known = self.of(name);
        if known.is_none() {
            self.named.push((name, extent / factor));
        }
        known.is_none_or(|known| extent == factor * known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn gives(pattern: &str, shapes: &[&[usize]], want: Option<&[usize]>) {
        assert_eq!(fit(pattern, shapes).map(|shapes| shapes.output).as_deref(), want);
    }

    #[test]
    fn names_numbers_factors_and_the_rest_have_one_extent_wherever_they_are() {
        gives("[k] [k] -> []", &[&[3], &[3]], Some(&[]));
        gives("[k] [k] -> []", &[&[3], &[4]], None);
        let linear = "[.., m, k] [n, k] [n] -> [.., m, n]";
        gives(linear, &[&[2, 5, 3], &[4, 3], &[4]], Some(&[2, 5, 4]));
        gives(linear, &[&[5, 3], &[4, 3], &[4]], Some(&[5, 4]));
        gives(linear, &[&[3], &[4, 3], &[4]], None);
        gives(linear, &[&[5, 3], &[4, 3]], None);
        gives("[b, 2n] -> [n, 4b]", &[&[3, 8]], Some(&[4, 12]));
        gives("[b, 2n] -> [n, b]", &[&[3, 7]], None);
        gives("[1, n] -> [n]", &[&[1, 7]], Some(&[7]));
        gives("[1, n] -> [n]", &[&[2, 7]], None);
        gives(
            "[b, .., n] [..] -> [n, ..]",
            &[&[2, 5, 6, 3], &[5, 6]],
            Some(&[3, 5, 6]),
        );
        gives("[b, .., n] [..] -> [n, ..]", &[&[2, 5, 6, 3], &[6, 5]], None);
    }

    #[test]
    fn a_pattern_makes_the_shapes_that_fit_it() {
        let pattern = Pattern::new("[.., m+, 2k] [n, k] [3, n] -> [.., m, n]");
        let name = |name, least, factor| Name { name, least, factor };
        assert_eq!(
            pattern.names(),
            [name("m", 1, 1), name("k", 0, 2), name("n", 0, 1)]
        );
        assert_eq!(
            (pattern.rest(), Pattern::new("[..+] -> []").rest()),
            (Some(0), Some(1))
        );
        assert_eq!(Pattern::new("[n] -> []").rest(), None);
        let extent = |name: &str| match name {
            "m" => 5,
            "k" => 3,
            _ => 4,
        };
        let shapes = pattern.shapes(extent, &[7, 2]);
        assert_eq!(shapes, [vec![7, 2, 5, 6], vec![4, 3], vec![3, 4]]);
        let slices: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        gives(pattern.0, &slices, Some(&[7, 2, 5, 4]));
        assert_eq!(pattern.following(&shapes[..2]), Some(vec![3, 4]));
        assert_eq!(pattern.following(&shapes[..1]), None, "nothing says what n is");
        assert_eq!(pattern.following(&shapes), None, "there is no further argument");
        assert_eq!(pattern.following(&[vec![2, 5]]), None, "the first does not fit");
    }

    #[test]
    fn nothing_is_no_extent_where_there_is_a_plus() {
        gives("[n] -> [n]", &[&[0]], Some(&[0]));
        gives("[n+] -> [n]", &[&[0]], None);
        gives("[..+] -> []", &[&[2, 0]], None);
        gives("[..+] -> []", &[&[]], Some(&[]));
    }

    #[test]
    fn ids_are_below_the_extent_that_is_named() {
        let bound =
            |shapes: &[&[usize]]| fit("[r+, w] [..] -> [.., w], ids < r", shapes).map(|found| found.bound);
        assert_eq!(bound(&[&[5, 7], &[2, 3]]), Some(Some(5)));
        assert_eq!(bound(&[&[0, 7], &[]]), None);
    }
}
