//! Formulas over tensors, with a running error for every element, and their gradients.
//!
//! A tape holds tensors in the order they are made: arguments, and results of few sorts of steps, of which every op and
//! layer is composed. Going back over it gives the gradient of a weighted sum of the last one, by the rules of calculus:
//! where maxima tie, they share the gradient evenly, which is a subgradient and symmetric.
//! A tape is an [`Arithmetic`], so that the formula of an element is a formula of a tensor too. [`Tensor`] has what only
//! tensors have: shapes, sums over dimensions, products of matrices.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::rc::Rc;

use crate::dd::Dd;
use crate::formula::ball::{Accumulation, Ball, Balls};
use crate::formula::{Arithmetic, Library, Pair, Primitive, Var};
use crate::numbers::{indices, ravel};

/// A tensor's place on a tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id(usize);

/// A tensor on a tape.
pub(crate) type Tensor<'t> = Var<'t, Tape>;

/// For each element of a sum of products, the places of its factors.
pub(crate) type Terms = Vec<Vec<(usize, usize)>>;

/// How a tensor was made.
enum Step {
    Argument,
    One(Primitive, Id),
    Two(Pair, Id, Id),
    /// A function of a tensor, and its derivative.
    Sloped(Id, Id),
    /// Elements of another tensor, by place; zero where there is none.
    Taken(Id, Vec<Option<usize>>, Accumulation),
    /// Sums of the elements; for each of those the place of its sum.
    Summed(Id, Vec<usize>),
    Dot(Id, Id, Terms),
    /// The greatest, or least, of each row of places.
    Extreme(Id, Vec<Vec<usize>>, bool),
}

struct Node {
    shape: Vec<usize>,
    values: Vec<Ball>,
    from: Step,
    /// How the step was rounded.
    balls: Balls,
}

/// Tensors in the making.
pub(crate) struct Tape {
    nodes: RefCell<Vec<Rc<Node>>>,
    balls: Cell<Balls>,
}

impl Tape {
    /// An empty tape whose steps are rounded as `balls` says.
    pub(crate) fn new(balls: Balls) -> Tape {
        Tape {
            nodes: RefCell::default(),
            balls: Cell::new(balls),
        }
    }

    fn node(&self, x: Id) -> Rc<Node> {
        Rc::clone(&self.nodes.borrow()[x.0])
    }

    fn push(&self, shape: Vec<usize>, values: Vec<Ball>, from: Step) -> Id {
        assert_eq!(
            values.len(),
            shape.iter().product::<usize>(),
            "an element for each place"
        );
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Rc::new(Node {
            shape,
            values,
            from,
            balls: self.balls.get(),
        }));
        Id(nodes.len() - 1)
    }

    fn tensor(&self, number: Id) -> Tensor<'_> {
        Var::new(self, number)
    }

    /// A tensor that everyone has exactly.
    pub(crate) fn argument(&self, shape: &[usize], values: &[f64]) -> Tensor<'_> {
        let values = values.iter().map(|x| Ball::exact(*x)).collect();
        self.tensor(self.push(shape.to_vec(), values, Step::Argument))
    }

    /// The gradient by `wrt` of the sum of `weight` times `y`.
    pub(crate) fn gradient(&self, y: Tensor<'_>, weight: &[f64], wrt: Tensor<'_>) -> Vec<Ball> {
        let (y, wrt) = (y.number, wrt.number);
        let mut grads: Vec<Option<Vec<Ball>>> = Vec::new();
        grads.resize_with(y.0.max(wrt.0) + 1, || None);
        grads[y.0] = Some(weight.iter().map(|w| Ball::exact(*w)).collect());
        for at in (0..=y.0).rev().filter(|at| *at != wrt.0) {
            if let Some(g) = grads[at].take() {
                self.back(&self.node(Id(at)), &g, |x, grad| {
                    self.accumulate(&mut grads[x.0], grad)
                });
            }
        }
        let none = || vec![Ball::ZERO; self.node(wrt).values.len()];
        grads[wrt.0].take().unwrap_or_else(none)
    }

    fn accumulate(&self, total: &mut Option<Vec<Ball>>, grad: Vec<Ball>) {
        let balls = self.balls.get();
        *total = Some(match total.take() {
            None => grad,
            Some(total) => total
                .into_iter()
                .zip(grad)
                .map(|(a, b)| balls.add(a, b))
                .collect(),
        });
    }

    /// Gives `to` what one step makes of the gradient `g` of its result, for each of its operands.
    fn back(&self, node: &Node, g: &[Ball], mut to: impl FnMut(Id, Vec<Ball>)) {
        let balls = self.balls.get();
        match &node.from {
            Step::Argument => {}
            Step::One(f, x) => {
                let at = self.node(*x);
                let of = at.values.iter().zip(&node.values).zip(g);
                to(
                    *x,
                    of.map(|((x, y), g)| one_back(*f, node.balls, [*x, *y, *g]))
                        .collect(),
                );
            }
            Step::Two(f, a, b) => {
                let (left, right) = (self.node(*a), self.node(*b));
                let of = left.values.iter().zip(&right.values).zip(g);
                let (left, right) = of
                    .map(|((a, b), g)| two_back(*f, node.balls, [*a, *b, *g]))
                    .unzip();
                to(*a, left);
                to(*b, right);
            }
            Step::Sloped(x, slope) => {
                let slope = self.node(*slope);
                let of = slope.values.iter().zip(g);
                to(*x, of.map(|(slope, g)| node.balls.mul(*g, *slope)).collect());
            }
            Step::Taken(x, places, sums) => {
                let mut terms = vec![Vec::new(); self.node(*x).values.len()];
                for (place, g) in places.iter().zip(g) {
                    place.iter().for_each(|at| terms[*at].push(*g));
                }
                let sum = |terms: Vec<Ball>| balls.sum(terms.into_iter(), *sums);
                to(*x, terms.into_iter().map(sum).collect());
            }
            Step::Summed(x, into) => to(*x, into.iter().map(|at| g[*at]).collect()),
            Step::Dot(a, b, terms) => {
                let (left, right) = (self.node(*a), self.node(*b));
                let mut of_left = vec![Vec::new(); left.values.len()];
                let mut of_right = vec![Vec::new(); right.values.len()];
                for (row, g) in terms.iter().zip(g) {
                    for (i, j) in row {
                        of_left[*i].push((*g, right.values[*j]));
                        of_right[*j].push((*g, left.values[*i]));
                    }
                }
                let dots = |terms: Vec<Vec<(Ball, Ball)>>| -> Vec<Ball> {
                    terms
                        .into_iter()
                        .map(|terms| balls.dot(terms.into_iter()))
                        .collect()
                };
                to(*a, dots(of_left));
                to(*b, dots(of_right));
            }
            Step::Extreme(x, rows, least) => {
                let values = &self.node(*x).values;
                let mut grads = vec![Ball::ZERO; values.len()];
                for (row, g) in rows.iter().zip(g) {
                    let winners = winners(values, row, *least);
                    let share = balls.div(*g, Ball::exact(winners.len() as f64));
                    winners
                        .into_iter()
                        .for_each(|at| grads[at] = balls.add(grads[at], share));
                }
                to(*x, grads);
            }
        }
    }
}

impl Arithmetic for Tape {
    type Number = Id;

    /// A scalar.
    fn constant(&self, c: Dd) -> Id {
        let value = self.balls.get().constant(c);
        self.push(vec![], vec![value], Step::Argument)
    }

    fn one(&self, f: Primitive, x: Id) -> Id {
        let (balls, x_node) = (self.balls.get(), self.node(x));
        let values = x_node.values.iter().map(|x| balls.one(f, *x)).collect();
        self.push(x_node.shape.clone(), values, Step::One(f, x))
    }

    /// Of two tensors that are broadcast to a common shape.
    fn two(&self, f: Pair, a: Id, b: Id) -> Id {
        let (a, b) = (self.tensor(a), self.tensor(b));
        let shape = common(&a.shape(), &b.shape());
        let (a, b) = (a.broadcast(&shape), b.broadcast(&shape));
        let (balls, left, right) = (self.balls.get(), a.node(), b.node());
        let values = left.values.iter().zip(&right.values);
        let values = values.map(|(a, b)| balls.two(f, *a, *b)).collect();
        self.push(shape, values, Step::Two(f, a.number, b.number))
    }

    /// A truth value does not change with its operands, except at its jumps.
    fn truth(&self, holds: fn(Option<Ordering>) -> bool, a: Id, b: Id) -> Id {
        let (balls, left, right) = (self.balls.get(), self.node(a), self.node(b));
        let values = left.values.iter().zip(&right.values);
        let values = values.map(|(a, b)| balls.truth(holds, *a, *b)).collect();
        self.push(left.shape.clone(), values, Step::Argument)
    }

    fn above(&self, x: Id, bound: f64, yes: Id, no: Id) -> Id {
        let x = self.tensor(x);
        let shape = x.shape();
        let (yes, no) = (self.tensor(yes), self.tensor(no));
        x.mask(|x| x > bound)
            .choose(yes.broadcast(&shape), no.broadcast(&shape))
            .number
    }

    /// At 0 the slope is half of each side's, as that of a maximum or minimum of equal numbers. A NaN goes there too.
    fn rectified(&self, x: Id, below: &dyn Fn(Id) -> Id) -> Id {
        let (above, below) = (self.tensor(x), self.tensor(below(x)));
        let shape = above.shape();
        let below = below.broadcast(&shape);
        let between = above * 0.5 + below * 0.5;
        let upper = above.mask(|x| x > 0.0).choose(above, between);
        above.mask(|x| x < 0.0).choose(below, upper).number
    }

    /// candle's composition, which is the other one.
    fn either(&self, _one: Id, other: Id) -> Id {
        other
    }

    fn composed(&self, _right: Id, composed: Id) -> Id {
        composed
    }

    fn wide(&self, x: Id, formula: &dyn Fn(Var<'_, Self>) -> Id) -> Id {
        let own = self.balls.get();
        self.balls.set(own.widened());
        let y = formula(self.tensor(x));
        self.balls.set(own);
        self.one(Primitive::Rounded, y)
    }

    fn with_slope(&self, x: Id, y: Id, slope: &dyn Fn() -> Id) -> Id {
        let (slope, y) = (slope(), self.node(y));
        self.push(y.shape.clone(), y.values.clone(), Step::Sloped(x, slope))
    }
}

/// For each element, whether it was chosen.
pub(crate) struct Mask(pub(crate) Vec<bool>);

impl Mask {
    /// The elements of `yes` where chosen, those of `no` elsewhere.
    pub(crate) fn choose<'t>(&self, yes: Tensor<'t>, no: Tensor<'t>) -> Tensor<'t> {
        let shape = yes.shape();
        let part = |x: Tensor<'t>, wanted: bool| {
            let places = self.0.iter().enumerate();
            let places = places.map(|(at, truth)| (*truth == wanted).then_some(at));
            x.taken(&shape, places.collect(), Accumulation::Wide)
        };
        part(yes, true) + part(no, false)
    }
}

impl<'t> Tensor<'t> {
    fn node(self) -> Rc<Node> {
        self.arithmetic.node(self.number)
    }

    fn push(self, shape: &[usize], values: Vec<Ball>, from: Step) -> Tensor<'t> {
        self.arithmetic
            .tensor(self.arithmetic.push(shape.to_vec(), values, from))
    }

    pub(crate) fn shape(self) -> Vec<usize> {
        self.node().shape.clone()
    }

    pub(crate) fn values(self) -> Vec<Ball> {
        self.node().values.clone()
    }

    /// The number of elements.
    pub(crate) fn count(self) -> usize {
        self.node().values.len()
    }

    /// The last dimension.
    pub(crate) fn last(self) -> usize {
        self.node().shape.len() - 1
    }

    /// Where a condition on the numbers holds.
    pub(crate) fn mask(self, holds: impl Fn(f64) -> bool) -> Mask {
        Mask(self.node().values.iter().map(|x| holds(x.mid.hi)).collect())
    }

    /// The tensor repeated along dimensions that it lacks, or has with extent 1.
    pub(crate) fn broadcast(self, shape: &[usize]) -> Tensor<'t> {
        let own = self.shape();
        if own == shape {
            return self;
        }
        let new = shape.len() - own.len();
        let place = |index: Vec<usize>| {
            let index: Vec<usize> = (0..own.len())
                .map(|d| if own[d] == 1 { 0 } else { index[new + d] })
                .collect();
            Some(ravel(&index, &own))
        };
        self.taken(shape, indices(shape).map(place).collect(), Accumulation::Wide)
    }

    /// Elements by place; zero where there is none. `sums` says how gradients of equal places are added.
    pub(crate) fn taken(self, shape: &[usize], places: Vec<Option<usize>>, sums: Accumulation) -> Tensor<'t> {
        let node = self.node();
        let values = places
            .iter()
            .map(|place| place.map_or(Ball::ZERO, |at| node.values[at]))
            .collect();
        self.push(shape, values, Step::Taken(self.number, places, sums))
    }

    /// The elements, row-major, under another shape.
    pub(crate) fn reshaped(self, shape: &[usize]) -> Tensor<'t> {
        self.taken(shape, (0..self.count()).map(Some).collect(), Accumulation::Wide)
    }

    /// The last two dimensions swapped.
    pub(crate) fn transposed(self) -> Tensor<'t> {
        let own = self.shape();
        let (mut shape, rank) = (own.clone(), own.len());
        shape.swap(rank - 2, rank - 1);
        let place = |mut index: Vec<usize>| {
            index.swap(rank - 2, rank - 1);
            Some(ravel(&index, &own))
        };
        self.taken(&shape, indices(&shape).map(place).collect(), Accumulation::Wide)
    }

    /// Slices `start` to `start + len` along `dim`.
    pub(crate) fn narrowed(self, dim: usize, start: usize, len: usize) -> Tensor<'t> {
        let own = self.shape();
        let mut shape = own.clone();
        shape[dim] = len;
        let place = |mut index: Vec<usize>| {
            index[dim] += start;
            Some(ravel(&index, &own))
        };
        self.taken(&shape, indices(&shape).map(place).collect(), Accumulation::Wide)
    }

    /// Sums over `dims`, which stay with extent 1.
    pub(crate) fn sum(self, dims: &[usize]) -> Tensor<'t> {
        let (shape, into) = self.reduced(dims);
        self.summed_into(&shape, into, Accumulation::Wide)
    }

    /// Sums of the elements; `into` has for each the place of the sum that it goes into.
    pub(crate) fn summed_into(self, shape: &[usize], into: Vec<usize>, sums: Accumulation) -> Tensor<'t> {
        let (balls, node) = (self.arithmetic.balls.get(), self.node());
        let sum = |row: &Vec<usize>| balls.sum(row.iter().map(|&at| node.values[at]), sums);
        let values = rows(&into, shape.iter().product()).iter().map(sum).collect();
        self.push(shape, values, Step::Summed(self.number, into))
    }

    /// The sum over `dims` times the reciprocal of the number of its terms, which candle rounds to the dtype.
    pub(crate) fn mean(self, dims: &[usize]) -> Tensor<'t> {
        let shape = self.shape();
        let count: usize = dims.iter().map(|d| shape[*d]).product();
        let sum = self.sum(dims);
        sum * sum.constant(1.0 / count as f64)
    }

    /// The mean of all elements, as a scalar.
    pub(crate) fn mean_all(self) -> Tensor<'t> {
        let dims: Vec<usize> = (0..self.shape().len()).collect();
        self.mean(&dims).reshaped(&[])
    }

    /// The greatest, or least, element along `dim`, which stays with extent 1.
    pub(crate) fn extreme(self, dim: usize, least: bool) -> Tensor<'t> {
        let (shape, into) = self.reduced(&[dim]);
        let rows = rows(&into, shape.iter().product());
        self.extreme_of(&shape, rows, least)
    }

    /// The greatest, or least, element of each row of places.
    pub(crate) fn extreme_of(self, shape: &[usize], rows: Vec<Vec<usize>>, least: bool) -> Tensor<'t> {
        let node = self.node();
        // A NaN is the extreme of its row.
        let nan = |at: &&usize| node.values[**at].mid.hi.is_nan();
        let best = |row: &Vec<usize>| match row.iter().find(nan) {
            Some(nan) => node.values[*nan],
            None => node.values[winners(&node.values, row, least)[0]],
        };
        let values = rows.iter().map(best).collect();
        self.push(shape, values, Step::Extreme(self.number, rows, least))
    }

    /// Sums of products with elements of another tensor.
    pub(crate) fn dot(self, other: Tensor<'t>, shape: &[usize], terms: Terms) -> Tensor<'t> {
        let (balls, left, right) = (self.arithmetic.balls.get(), self.node(), other.node());
        let sum = |row: &Vec<(usize, usize)>| {
            balls.dot(row.iter().map(|(i, j)| (left.values[*i], right.values[*j])))
        };
        let values = terms.iter().map(sum).collect();
        self.push(shape, values, Step::Dot(self.number, other.number, terms))
    }

    /// Products of the matrices in the last two dimensions.
    pub(crate) fn matmul(self, other: Tensor<'t>) -> Tensor<'t> {
        let (left, right) = (self.shape(), other.shape());
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
        self.dot(other, &shape, terms)
    }

    /// The shape with extent 1 along `dims`, and for each element its place there.
    fn reduced(self, dims: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let own = self.shape();
        let mut shape = own.clone();
        dims.iter().for_each(|d| shape[*d] = 1);
        let place = |mut index: Vec<usize>| {
            dims.iter().for_each(|d| index[*d] = 0);
            ravel(&index, &shape)
        };
        let into = indices(&own).map(place).collect();
        (shape, into)
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

/// Every number between 0 and `g`: what a kink leaves open.
fn between_zero_and(g: Ball) -> Ball {
    let half = Dd::from(0.5) * g.mid;
    Ball {
        mid: half,
        rad: half.hi.abs() + g.rad,
    }
}

/// `g` times the derivative of a primitive at `x`, where it is `y`.
fn one_back(f: Primitive, balls: Balls, [x, y, g]: [Ball; 3]) -> Ball {
    let [at, value, g_at] = [x, y, g].map(|number| Var::new(&balls, number));
    let beyond = |bound: f64, open: bool| match x.mid.hi == bound {
        true => between_zero_and(g),
        false if open => g,
        false => Ball::ZERO,
    };
    match f {
        Primitive::Neg => g.negated(),
        Primitive::Abs if x.mid.hi == 0.0 => Ball::ZERO.widened(g.mid.hi.abs() + g.rad),
        Primitive::Abs if x.mid.hi < 0.0 => g.negated(),
        Primitive::Abs | Primitive::Plus(_) | Primitive::Held => g,
        // Constant except at the jumps.
        Primitive::Sign | Primitive::Floor | Primitive::Ceil | Primitive::Round => Ball::ZERO,
        Primitive::Sqr => (at * g_at * 2.0).number,
        Primitive::Sqrt => (g_at / value * 0.5).number,
        Primitive::Power(exponent) => (g_at * at.power(exponent - 1) * f64::from(exponent)).number,
        Primitive::Library(f) => library_back(f, [at, value, g_at]).number,
        Primitive::AtLeast(least) => beyond(least, x.mid.hi > least),
        Primitive::AtMost(most) => beyond(most, x.mid.hi < most),
        Primitive::Times(c) => (g_at * c).number,
        Primitive::Rounded => g_at.rounded().number,
    }
}

fn library_back<'b>(f: Library, [x, y, g]: [Var<'b, Balls>; 3]) -> Var<'b, Balls> {
    match f {
        Library::Exp => g * y,
        Library::Log => g / x,
        Library::Sin => g * x.cos(),
        Library::Cos => -(g * x.sin()),
        Library::Tanh => -(g * (y * y - 1.0)),
        Library::Erf => g * ((-(x * x)).exp() * std::f64::consts::FRAC_2_SQRT_PI),
        Library::Normcdf => {
            let density = 0.5 * std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
            g * ((x * x * -0.5).exp() * density)
        }
        // A constant, at 0 as well, where the general formula is 0 times infinity.
        Library::Powf(0.0) => g.constant(0.0),
        Library::Powf(exponent) => g * x.powf(exponent - 1.0) * exponent,
    }
}

/// The gradients by both operands.
fn two_back(f: Pair, balls: Balls, [a, b, g]: [Ball; 3]) -> (Ball, Ball) {
    let extreme = |first: bool| match (first, a.mid.hi == b.mid.hi) {
        (_, true) => {
            let half = balls.one(Primitive::Times(0.5.into()), g);
            (half, half)
        }
        (true, false) => (g, Ball::ZERO),
        (false, false) => (Ball::ZERO, g),
    };
    let [left, right, weight] = [a, b, g].map(|number| Var::new(&balls, number));
    match f {
        Pair::Add => (g, g),
        Pair::Sub => (g, g.negated()),
        Pair::Mul => ((weight * right).number, (weight * left).number),
        Pair::Div => (
            (weight / right).number,
            (-(weight * left / (right * right))).number,
        ),
        Pair::Maximum => extreme(a.mid.hi > b.mid.hi),
        Pair::Minimum => extreme(a.mid.hi < b.mid.hi),
        Pair::Pow => {
            let log = left.ln();
            let weight = weight * (right * log).exp();
            ((weight * right / left).number, (weight * log).number)
        }
    }
}
