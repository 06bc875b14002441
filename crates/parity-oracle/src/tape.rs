//! Formulas over tensors, with a running error for every element, and their gradients.
//!
//! A tape holds tensors in the order they are made: arguments, and results of few kinds of steps, of which every op and
//! layer is composed. Going back over it gives the gradient of a weighted sum of the last one, by the rules of calculus:
//! where maxima tie, they share the gradient evenly, which is a subgradient and symmetric.

use parity_model::op::Binary;

use crate::ball::{Ball, Steps, Sums};
use crate::each::Each;
use crate::numbers::{indices, ravel};

/// A tensor on a tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id(usize);

/// For each element of a sum of products, the places of its factors.
pub(crate) type Terms = Vec<Vec<(usize, usize)>>;

enum From {
    Argument,
    Each(Id, Each, Steps),
    Pair(Binary, Id, Id, Steps),
    /// Elements of another tensor, by place; zero where there is none.
    Taken(Id, Vec<Option<usize>>, Sums),
    /// Sums of the elements; for each of those the place of its sum.
    Summed(Id, Vec<usize>),
    Dot(Id, Id, Terms),
    /// The greatest, or least, of each row of places.
    Extreme(Id, Vec<Vec<usize>>, bool),
}

struct Node {
    shape: Vec<usize>,
    values: Vec<Ball>,
    from: From,
}

/// Tensors in the making.
pub(crate) struct Tape {
    nodes: Vec<Node>,
    steps: Steps,
}

impl Tape {
    /// An empty tape whose steps are rounded as `steps` says.
    pub(crate) fn new(steps: Steps) -> Tape {
        Tape { nodes: vec![], steps }
    }

    /// How steps are rounded from here on; returns how they were.
    pub(crate) fn round_as(&mut self, steps: Steps) -> Steps {
        std::mem::replace(&mut self.steps, steps)
    }

    /// How steps are rounded.
    pub(crate) fn steps(&self) -> Steps {
        self.steps
    }

    fn push(&mut self, shape: Vec<usize>, values: Vec<Ball>, from: From) -> Id {
        assert_eq!(
            values.len(),
            shape.iter().product::<usize>(),
            "an element for each place"
        );
        self.nodes.push(Node { shape, values, from });
        Id(self.nodes.len() - 1)
    }

    /// A tensor that everyone has exactly.
    pub(crate) fn argument(&mut self, shape: &[usize], values: &[f64]) -> Id {
        let values = values.iter().map(|x| Ball::exact(*x)).collect();
        self.push(shape.to_vec(), values, From::Argument)
    }

    /// A scalar constant, rounded as the steps are.
    pub(crate) fn constant(&mut self, c: f64) -> Id {
        let value = self.steps.constant(c.into());
        self.push(vec![], vec![value], From::Argument)
    }

    pub(crate) fn shape(&self, x: Id) -> &[usize] {
        &self.nodes[x.0].shape
    }

    pub(crate) fn values(&self, x: Id) -> &[Ball] {
        &self.nodes[x.0].values
    }

    /// A function of each element.
    pub(crate) fn each(&mut self, x: Id, each: Each) -> Id {
        let steps = self.steps;
        let values = self.values(x).iter().map(|x| each.value(steps, *x)).collect();
        let shape = self.shape(x).to_vec();
        self.push(shape, values, From::Each(x, each, steps))
    }

    /// A function of each pair of elements of two tensors, broadcast to a common shape.
    pub(crate) fn pair(&mut self, op: Binary, a: Id, b: Id) -> Id {
        let shape = common(self.shape(a), self.shape(b));
        let (a, b) = (self.broadcast(a, &shape), self.broadcast(b, &shape));
        let steps = self.steps;
        let values = self.values(a).iter().zip(self.values(b));
        let values = values.map(|(a, b)| pair(op, steps, *a, *b)).collect();
        self.push(shape, values, From::Pair(op, a, b, steps))
    }

    /// The tensor repeated along dimensions that it lacks, or has with extent 1.
    pub(crate) fn broadcast(&mut self, x: Id, shape: &[usize]) -> Id {
        let own = self.shape(x).to_vec();
        if own == shape {
            return x;
        }
        let new = shape.len() - own.len();
        let place = |index: Vec<usize>| {
            let index: Vec<usize> = (0..own.len())
                .map(|d| if own[d] == 1 { 0 } else { index[new + d] })
                .collect();
            Some(ravel(&index, &own))
        };
        let places = indices(shape).map(place).collect();
        self.taken(x, shape, places, Sums::Accumulated)
    }

    /// Elements of `x` by place; zero where there is none. `sums` says how gradients of equal places are added.
    pub(crate) fn taken(&mut self, x: Id, shape: &[usize], places: Vec<Option<usize>>, sums: Sums) -> Id {
        let values = self.values(x);
        let values = places
            .iter()
            .map(|place| place.map_or(Ball::ZERO, |at| values[at]))
            .collect();
        self.push(shape.to_vec(), values, From::Taken(x, places, sums))
    }

    /// The elements, row-major, under another shape.
    pub(crate) fn reshaped(&mut self, x: Id, shape: &[usize]) -> Id {
        let places = (0..self.values(x).len()).map(Some).collect();
        self.taken(x, shape, places, Sums::Accumulated)
    }

    /// The last two dimensions swapped.
    pub(crate) fn transposed(&mut self, x: Id) -> Id {
        let own = self.shape(x).to_vec();
        let mut shape = own.clone();
        let rank = shape.len();
        shape.swap(rank - 2, rank - 1);
        let place = |mut index: Vec<usize>| {
            index.swap(rank - 2, rank - 1);
            Some(ravel(&index, &own))
        };
        let places = indices(&shape).map(place).collect();
        self.taken(x, &shape, places, Sums::Accumulated)
    }

    /// Slices `start` to `start + len` along `dim`.
    pub(crate) fn narrowed(&mut self, x: Id, dim: usize, start: usize, len: usize) -> Id {
        let own = self.shape(x).to_vec();
        let mut shape = own.clone();
        shape[dim] = len;
        let place = |mut index: Vec<usize>| {
            index[dim] += start;
            Some(ravel(&index, &own))
        };
        let places = indices(&shape).map(place).collect();
        self.taken(x, &shape, places, Sums::Accumulated)
    }

    /// Sums over `dims`, which stay with extent 1.
    pub(crate) fn summed(&mut self, x: Id, dims: &[usize]) -> Id {
        let (shape, into) = self.reduced(x, dims);
        self.summed_into(x, &shape, into, Sums::Accumulated)
    }

    /// Sums of the elements; `into` has for each the place of the sum that it goes into.
    pub(crate) fn summed_into(&mut self, x: Id, shape: &[usize], into: Vec<usize>, sums: Sums) -> Id {
        let (steps, values) = (self.steps, self.values(x));
        let sum = |row: &Vec<usize>| steps.sum(row.iter().map(|&at| values[at]), sums);
        let values = rows(&into, shape.iter().product()).iter().map(sum).collect();
        self.push(shape.to_vec(), values, From::Summed(x, into))
    }

    /// The sum over `dims` times the reciprocal of the number of its terms, which candle rounds to the dtype.
    pub(crate) fn mean(&mut self, x: Id, dims: &[usize]) -> Id {
        let count: usize = dims.iter().map(|d| self.shape(x)[*d]).product();
        let sum = self.summed(x, dims);
        let share = self.constant(1.0 / count as f64);
        self.pair(Binary::Mul, sum, share)
    }

    /// The greatest, or least, element along `dim`, which stays with extent 1.
    pub(crate) fn extreme(&mut self, x: Id, dim: usize, least: bool) -> Id {
        let (shape, into) = self.reduced(x, &[dim]);
        let rows = rows(&into, shape.iter().product());
        self.extreme_of(x, &shape, rows, least)
    }

    /// The greatest, or least, element of each row of places.
    pub(crate) fn extreme_of(&mut self, x: Id, shape: &[usize], rows: Vec<Vec<usize>>, least: bool) -> Id {
        let values = self.values(x);
        let best = |row: &Vec<usize>| values[winners(values, row, least)[0]];
        let values = rows.iter().map(best).collect();
        self.push(shape.to_vec(), values, From::Extreme(x, rows, least))
    }

    /// Sums of products.
    pub(crate) fn dot(&mut self, a: Id, b: Id, shape: &[usize], terms: Terms) -> Id {
        let (steps, left, right) = (self.steps, self.values(a), self.values(b));
        let sum = |row: &Vec<(usize, usize)>| steps.dot(row.iter().map(|(i, j)| (left[*i], right[*j])));
        let values = terms.iter().map(sum).collect();
        self.push(shape.to_vec(), values, From::Dot(a, b, terms))
    }

    /// Products of the matrices in the last two dimensions.
    pub(crate) fn matmul(&mut self, a: Id, b: Id) -> Id {
        let (left, right) = (self.shape(a).to_vec(), self.shape(b).to_vec());
        let rank = left.len();
        let (m, k, n) = (left[rank - 2], left[rank - 1], right[rank - 1]);
        let shape = [&left[..rank - 1], &[n]].concat();
        let row = |place: usize| {
            let (batch, row, column) = (place / (m * n), place / n % m, place % n);
            (0..k)
                .map(|i| ((batch * m + row) * k + i, (batch * k + i) * n + column))
                .collect()
        };
        let terms = (0..shape.iter().product()).map(row).collect();
        self.dot(a, b, &shape, terms)
    }

    /// The shape with extent 1 along `dims`, and for each element of `x` its place there.
    fn reduced(&self, x: Id, dims: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let own = self.shape(x);
        let mut shape = own.to_vec();
        dims.iter().for_each(|d| shape[*d] = 1);
        let place = |mut index: Vec<usize>| {
            dims.iter().for_each(|d| index[*d] = 0);
            ravel(&index, &shape)
        };
        let into = indices(own).map(place).collect();
        (shape, into)
    }

    /// The gradient by `wrt` of the sum of `weight` times `y`.
    pub(crate) fn gradient(&self, y: Id, weight: &[f64], wrt: Id) -> Vec<Ball> {
        let mut grads: Vec<Option<Vec<Ball>>> = Vec::new();
        grads.resize_with(self.nodes.len(), || None);
        grads[y.0] = Some(weight.iter().map(|w| Ball::exact(*w)).collect());
        for at in (0..=y.0).rev().filter(|at| *at != wrt.0) {
            if let Some(g) = grads[at].take() {
                self.back(&self.nodes[at], &g, |x, grad| {
                    self.accumulate(&mut grads[x.0], grad)
                });
            }
        }
        let none = || vec![Ball::ZERO; self.values(wrt).len()];
        grads[wrt.0].take().unwrap_or_else(none)
    }

    fn accumulate(&self, total: &mut Option<Vec<Ball>>, grad: Vec<Ball>) {
        *total = Some(match total.take() {
            None => grad,
            Some(total) => total
                .into_iter()
                .zip(grad)
                .map(|(a, b)| self.steps.add(a, b))
                .collect(),
        });
    }

    /// Gives `to` what one step makes of the gradient `g` of its result, for each of its operands.
    fn back(&self, node: &Node, g: &[Ball], mut to: impl FnMut(Id, Vec<Ball>)) {
        let steps = self.steps;
        match &node.from {
            From::Argument => {}
            From::Each(x, each, steps) => {
                let of = self.values(*x).iter().zip(&node.values).zip(g);
                to(
                    *x,
                    of.map(|((x, y), g)| each.gradient(*steps, *x, *y, *g)).collect(),
                );
            }
            From::Pair(op, a, b, steps) => {
                let of = self.values(*a).iter().zip(self.values(*b)).zip(g);
                let (left, right) = of
                    .map(|((a, b), g)| pair_gradient(*op, *steps, [*a, *b, *g]))
                    .unzip();
                to(*a, left);
                to(*b, right);
            }
            From::Taken(x, places, sums) => {
                let mut terms = vec![Vec::new(); self.values(*x).len()];
                for (place, g) in places.iter().zip(g) {
                    place.iter().for_each(|at| terms[*at].push(*g));
                }
                to(
                    *x,
                    terms
                        .into_iter()
                        .map(|terms| steps.sum(terms.into_iter(), *sums))
                        .collect(),
                );
            }
            From::Summed(x, into) => to(*x, into.iter().map(|at| g[*at]).collect()),
            From::Dot(a, b, terms) => {
                let (left, right) = (self.values(*a), self.values(*b));
                let mut of_left = vec![Vec::new(); left.len()];
                let mut of_right = vec![Vec::new(); right.len()];
                for (row, g) in terms.iter().zip(g) {
                    for (i, j) in row {
                        of_left[*i].push((*g, right[*j]));
                        of_right[*j].push((*g, left[*i]));
                    }
                }
                let dots = |terms: Vec<Vec<(Ball, Ball)>>| -> Vec<Ball> {
                    terms
                        .into_iter()
                        .map(|terms| steps.dot(terms.into_iter()))
                        .collect()
                };
                to(*a, dots(of_left));
                to(*b, dots(of_right));
            }
            From::Extreme(x, rows, least) => {
                let values = self.values(*x);
                let mut grads = vec![Ball::ZERO; values.len()];
                for (row, g) in rows.iter().zip(g) {
                    let winners = winners(values, row, *least);
                    let share = steps.div(*g, Ball::exact(winners.len() as f64));
                    winners
                        .into_iter()
                        .for_each(|at| grads[at] = steps.add(grads[at], share));
                }
                to(*x, grads);
            }
        }
    }
}

/// For each place of a result, the places that go into it.
fn rows(into: &[usize], count: usize) -> Vec<Vec<usize>> {
    let mut rows = vec![Vec::new(); count];
    into.iter().enumerate().for_each(|(at, row)| rows[*row].push(at));
    rows
}

/// The places of the greatest, or least, element of a row: more than one where they tie.
fn winners(values: &[Ball], row: &[usize], least: bool) -> Vec<usize> {
    let key = |at: usize| {
        if least {
            -values[at].mid.hi
        } else {
            values[at].mid.hi
        }
    };
    let best = row.iter().map(|at| key(*at)).fold(f64::NEG_INFINITY, f64::max);
    row.iter().copied().filter(|at| key(*at) >= best).collect()
}

/// The shape that two shapes are broadcast to.
fn common(a: &[usize], b: &[usize]) -> Vec<usize> {
    let rank = a.len().max(b.len());
    let extent = |shape: &[usize], d: usize| (d + shape.len()).checked_sub(rank).map_or(1, |own| shape[own]);
    let wider = |d| match (extent(a, d), extent(b, d)) {
        (1, n) => n,
        (m, _) => m,
    };
    (0..rank).map(wider).collect()
}

fn pair(op: Binary, s: Steps, a: Ball, b: Ball) -> Ball {
    let truth = |holds: bool| if holds { Ball::ONE } else { Ball::ZERO };
    let (x, y) = (a.mid.hi, b.mid.hi);
    match op {
        Binary::Add => s.add(a, b),
        Binary::Sub => s.sub(a, b),
        Binary::Mul => s.mul(a, b),
        Binary::Div => s.div(a, b),
        Binary::Pow => s.exp(s.mul(b, s.ln(a))),
        Binary::Maximum => {
            if x >= y {
                a
            } else {
                b
            }
        }
        Binary::Minimum => {
            if x <= y {
                a
            } else {
                b
            }
        }
        Binary::Eq => truth(x == y),
        Binary::Ne => truth(x != y),
        Binary::Lt => truth(x < y),
        Binary::Le => truth(x <= y),
        Binary::Gt => truth(x > y),
        Binary::Ge => truth(x >= y),
    }
}

/// The gradients by both operands.
fn pair_gradient(op: Binary, s: Steps, [a, b, g]: [Ball; 3]) -> (Ball, Ball) {
    let extreme = |first: bool| match (first, a.mid.hi == b.mid.hi) {
        (_, true) => {
            let half = s.scaled(g, 0.5);
            (half, half)
        }
        (true, false) => (g, Ball::ZERO),
        (false, false) => (Ball::ZERO, g),
    };
    match op {
        Binary::Add => (g, g),
        Binary::Sub => (g, g.negated()),
        Binary::Mul => (s.mul(g, b), s.mul(g, a)),
        Binary::Div => (s.div(g, b), s.div(s.mul(g, a), s.mul(b, b)).negated()),
        Binary::Pow => {
            let log = s.ln(a);
            let g = s.mul(g, s.exp(s.mul(b, log)));
            (s.div(s.mul(g, b), a), s.mul(g, log))
        }
        Binary::Maximum => extreme(a.mid.hi > b.mid.hi),
        Binary::Minimum => extreme(a.mid.hi < b.mid.hi),
        // A truth value does not change with its operands, but for the jumps.
        Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => {
            (Ball::ZERO, Ball::ZERO)
        }
    }
}
