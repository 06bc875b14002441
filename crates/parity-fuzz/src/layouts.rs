//! How arguments lie in memory.

use parity_model::op::Role;
use parity_model::{Layout, Place, View};

use crate::draw::Draw;

/// The tensor below a view may have so many times the view's elements.
const MOST_ROOM: usize = 8;

/// A layout that is possible for the shape.
pub(crate) fn draw(role: Role, shape: &[usize], draw: &mut Draw) -> Layout {
    if role == Role::Blocks || shape.is_empty() {
        return Layout::Contiguous;
    }
    let layout = match draw.below(100) {
        0..45 => return Layout::Contiguous,
        45..62 => {
            let possible = Layout::ALL.iter().filter(|layout| layout.plan(shape).is_some());
            *draw.pick(&possible.copied().collect::<Vec<_>>())
        }
        _ => match view(shape, draw) {
            Some(view) => Layout::View(view),
            None => Layout::Contiguous,
        },
    };
    match layout.plan(shape) {
        Some(plan) if plan.base_shape.iter().product::<usize>() <= room(shape) => layout,
        Some(_) | None => Layout::Contiguous,
    }
}

fn room(shape: &[usize]) -> usize {
    MOST_ROOM * shape.iter().product::<usize>() + 4096
}

/// A random order, and now and then something beside a dimension, a step, a repeat.
fn view(shape: &[usize], draw: &mut Draw) -> Option<View> {
    let mut dims: Vec<u8> = (0..u8::try_from(shape.len()).ok()?).collect();
    if draw.chance(60) {
        for i in (1..dims.len()).rev() {
            dims.swap(i, draw.below(i + 1));
        }
    }
    let places = dims.into_iter().map(|dim| {
        let mut place = Place::dense(dim);
        match draw.below(100) {
            0..12 if shape[usize::from(dim)] >= 2 => place.repeats = true,
            12..30 => place.before = small(draw),
            30..45 => place.after = small(draw),
            45..55 => (place.before, place.after) = (small(draw), small(draw)),
            55..70 => place.step = 2 + small(draw) % 3,
            _ => {}
        }
        place
    });
    let view = View::new(&places.collect::<Vec<_>>())?;
    // What lies as a contiguous tensor does is called so.
    (view.complexity() > 0).then_some(view)
}

fn small(draw: &mut Draw) -> u8 {
    *draw.pick(&[1, 1, 2, 3, 4, 5, 7, 8, 16])
}
