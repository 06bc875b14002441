//! Views of any permutation, with room before and after each dimension, steps and repeats: what the named layouts have one
//! example of each.

use super::{ViewPlan, ViewStep};
use crate::op::UnknownName;

/// The most dimensions of a view.
pub const MOST_DIMENSIONS: usize = 10;

/// How one dimension of a view lies in the tensor underneath.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Which dimension of the view it is.
    pub dim: u8,
    /// Elements of the dimension that lie before the first one of the view.
    pub before: u8,
    /// Elements of the dimension that lie after the last one of the view.
    pub after: u8,
    /// The view has every so manieth element; 1 for each.
    pub step: u8,
    /// The one element that is there repeats: stride 0. Nothing lies before or after it then, and the step is 1.
    pub repeats: bool,
}

impl Place {
    /// A dimension whose elements follow one another.
    pub const fn dense(dim: u8) -> Place {
        Place {
            dim,
            before: 0,
            after: 0,
            step: 1,
            repeats: false,
        }
    }
}

/// A view: its dimensions in the order of memory, the slowest first.
///
/// The text form is `view(1b2.0s3.2r)`: dimension 1 is the slowest and has two elements before the view's first (`a` is for
/// those after its last); of dimension 0 every third element is shown; dimension 2 repeats one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct View {
    rank: u8,
    places: [Place; MOST_DIMENSIONS],
}

impl View {
    /// The view with these dimensions; `None` where they are none or too many, a dimension is missing or given twice, a step
    /// is 0, or something lies beside an element that repeats.
    pub fn new(list: &[Place]) -> Option<View> {
        let rank = list.len();
        if rank == 0 || rank > MOST_DIMENSIONS {
            return None;
        }
        let named = |dim: usize| list.iter().filter(|place| usize::from(place.dim) == dim).count();
        let sound = |place: &Place| {
            place.step > 0 && !(place.repeats && (place.before, place.after, place.step) != (0, 0, 1))
        };
        if (0..rank).any(|dim| named(dim) != 1) || !list.iter().all(sound) {
            return None;
        }
        let mut places = [Place::dense(0); MOST_DIMENSIONS];
        places[..rank].copy_from_slice(list);
        let rank = u8::try_from(rank).ok()?;
        Some(View { rank, places })
    }

    /// The dimensions in the order of memory.
    pub fn places(&self) -> &[Place] {
        &self.places[..usize::from(self.rank)]
    }

    /// The view without one of its dimensions; `None` where it has no other.
    pub fn without(&self, dim: usize) -> Option<View> {
        let others = self.places().iter().filter(|place| usize::from(place.dim) != dim);
        let moved = others.map(|place| Place {
            dim: place.dim - u8::from(usize::from(place.dim) > dim),
            ..*place
        });
        View::new(&moved.collect::<Vec<_>>())
    }

    /// How far it is from contiguous: dimensions out of order, elements beside it, steps, repeats.
    pub fn complexity(&self) -> usize {
        let places = self.places();
        let ahead =
            |(i, place): (usize, &Place)| places[..i].iter().filter(|other| other.dim > place.dim).count();
        let disorder: usize = places.iter().enumerate().map(ahead).sum();
        let own = places.iter().map(|place| {
            let beside = usize::from(place.before) + usize::from(place.after);
            beside + 2 * usize::from(place.step - 1) + 2 * usize::from(place.repeats)
        });
        4 * disorder + own.sum::<usize>()
    }

    /// Simpler views of the same rank: one dimension made dense, less beside one, or two neighbours put in order.
    pub fn simpler(&self) -> Vec<View> {
        let mut found = Vec::new();
        for i in 0..self.places().len() {
            let place = self.places[i];
            let less = |value: u8| value.min(1);
            for new in [
                Place::dense(place.dim),
                Place { before: 0, ..place },
                Place { after: 0, ..place },
                Place { step: 1, ..place },
                Place {
                    before: less(place.before),
                    after: less(place.after),
                    step: place.step.min(2),
                    ..place
                },
            ] {
                let mut view = *self;
                view.places[i] = new;
                found.push(view);
            }
            if i > 0 && self.places[i - 1].dim > place.dim {
                let mut view = *self;
                view.places.swap(i - 1, i);
                found.push(view);
            }
        }
        found.retain(|view| view != self);
        found
    }

    /// The recipe for logical `shape`; `None` where it has another rank, or where what repeats has fewer than 2 elements.
    pub(super) fn plan(&self, shape: &[usize]) -> Option<ViewPlan> {
        let places = self.places();
        let fits = |place: &Place| !place.repeats || shape[usize::from(place.dim)] >= 2;
        if shape.len() != places.len() || !places.iter().all(fits) {
            return None;
        }
        let (mut base_shape, mut steps) = (Vec::new(), Vec::new());
        for (at, place) in places.iter().enumerate() {
            let len = if place.repeats {
                1
            } else {
                shape[usize::from(place.dim)]
            };
            let (start, step) = (usize::from(place.before), usize::from(place.step));
            base_shape.push(start + len + usize::from(place.after));
            if step > 1 {
                base_shape.push(step);
                let dim = at + 1;
                steps.extend([
                    ViewStep::Narrow {
                        dim,
                        start: step - 1,
                        len: 1,
                    },
                    ViewStep::Squeeze(dim),
                ]);
            }
            if (place.before, place.after) != (0, 0) {
                steps.push(ViewStep::Narrow { dim: at, start, len });
            }
        }
        let mut order = vec![0; places.len()];
        for (at, place) in places.iter().enumerate() {
            order[usize::from(place.dim)] = at;
        }
        if !order.is_sorted() {
            steps.push(ViewStep::Permute(order));
        }
        if places.iter().any(|place| place.repeats) {
            steps.push(ViewStep::BroadcastAs(shape.to_vec()));
        }
        Some(ViewPlan { base_shape, steps })
    }
}

impl std::fmt::Display for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = |place: &Place| {
            let mut word = place.dim.to_string();
            let mut put = |letter: char, value: u8, plain: u8| {
                if value != plain {
                    word.push_str(&format!("{letter}{value}"));
                }
            };
            put('b', place.before, 0);
            put('a', place.after, 0);
            put('s', place.step, 1);
            if place.repeats {
                word.push('r');
            }
            word
        };
        let words: Vec<String> = self.places().iter().map(word).collect();
        f.pad(&format!("view({})", words.join(".")))
    }
}

impl std::str::FromStr for View {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<View, UnknownName> {
        let inner = text.strip_prefix("view(").and_then(|text| text.strip_suffix(')'));
        let places = inner.and_then(|inner| inner.split('.').map(place).collect::<Option<Vec<_>>>());
        let view = places.and_then(|places| View::new(&places));
        // One view has one spelling: an id is compared as text.
        let view = view.filter(|view| view.to_string() == text);
        view.ok_or_else(|| UnknownName {
            what: "layout, expected a view such as view(1b2.0s3.2r)",
            name: text.to_owned(),
        })
    }
}

/// `1b2a1s3`, or `2r`.
fn place(word: &str) -> Option<Place> {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (dim, mut rest) = word.split_at(digits(word));
    let mut place = Place::dense(dim.parse().ok()?);
    while let Some(letter) = rest.chars().next() {
        let tail = rest.get(1..)?;
        let (number, more) = tail.split_at(digits(tail));
        match letter {
            'r' if number.is_empty() => place.repeats = true,
            'b' => place.before = number.parse().ok()?,
            'a' => place.after = number.parse().ok()?,
            's' => place.step = number.parse().ok()?,
            _ => return None,
        }
        rest = more;
    }
    Some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, HostTensor, Layout};

    fn view(text: &str) -> View {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_view_has_one_spelling_and_what_is_none_is_refused() {
        for text in [
            "view(0)",
            "view(1.0)",
            "view(1b2.0s3.2r)",
            "view(0b1a2s3)",
            "view(9.8.7.6.5.4.3.2.1.0)",
        ] {
            assert_eq!(view(text).to_string(), text);
            assert_eq!(text.parse::<Layout>(), Ok(Layout::View(view(text))));
        }
        for text in [
            "view()",
            "view",
            "view(1)",
            "view(0.0)",
            "view(0.2)",
            "view(0b0)",
            "view(0s0)",
            "view(0s1)",
            "view(00)",
            "view(0rb1)",
            "view(0b1r)",
            "view(0b256)",
            "view(0b)",
            "view(0x1)",
            "view(0a1b2)",
            "view(0,1)",
            "view(-1)",
            "view(0.1.2.3.4.5.6.7.8.9.10)",
            "view(0ü)",
        ] {
            assert!(text.parse::<View>().is_err(), "{text}");
            assert!(text.parse::<Layout>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_elements_are_where_the_dimensions_say() {
        // A row for each j, two of them before the first; in a row, the last of three for each i; one element for all k.
        let view = view("view(1b2a1.0s3.2r)");
        let shape = [4, 5, 6];
        let plan = view.plan(&shape).unwrap();
        assert_eq!(plan.base_shape, [8, 4, 3, 1]);
        let strided = plan.strided();
        assert_eq!(strided.dims, shape);
        assert_eq!(strided.strides, [3, 12, 0]);
        assert_eq!(strided.offset, 2 * 12 + 2);
        let base = HostTensor {
            dtype: DType::I16,
            shape: plan.base_shape.clone(),
            bytes: (0..96_i16).flat_map(i16::to_le_bytes).collect(),
        };
        let shown = plan.gather(&base);
        assert_eq!(shown.shape, shape);
        let at = |i: usize, j: usize, k: usize| shown.bits((i * 5 + j) * 6 + k) as usize;
        for (i, j, k) in [(0, 0, 0), (3, 0, 5), (1, 2, 3), (3, 4, 5)] {
            assert_eq!(at(i, j, k), (j + 2) * 12 + i * 3 + 2);
        }
    }

    #[test]
    fn a_view_needs_its_rank_and_something_to_repeat() {
        assert_eq!(view("view(1.0)").plan(&[2, 3, 4]), None);
        assert_eq!(view("view(0r.1)").plan(&[1, 3]), None);
        assert!(view("view(0r.1)").plan(&[2, 0]).is_some());
        assert!(view("view(0b1.1)").plan(&[0, 3]).is_some());
    }

    #[test]
    fn simpler_views_are_simpler_and_a_dimension_can_go() {
        let start = view("view(2b3.0s4.1r)");
        for simpler in start.simpler() {
            assert!(simpler.complexity() < start.complexity(), "{simpler}");
            assert_eq!(simpler.to_string().parse(), Ok(simpler));
        }
        assert_eq!(start.without(0), Some(view("view(1b3.0r)")));
        assert_eq!(start.without(2), Some(view("view(0s4.1r)")));
        assert_eq!(view("view(0b1)").without(0), None);
    }
}
