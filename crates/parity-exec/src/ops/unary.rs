//! The calls of the ops on one tensor, element by element. What a row is says [`super::candle`].

use parity_model::op::Unary;

use super::candle;

candle! {
    fn row(Unary) {
        Unary::Exp => |x| x.exp()?;
        Unary::Log => |x| x.log()?;
        Unary::Sin => |x| x.sin()?;
        Unary::Cos => |x| x.cos()?;
        Unary::Abs => |x| x.abs()?;
        Unary::Neg => |x| x.neg()?;
        Unary::Recip => |x| x.recip()?;
        Unary::Sqr => |x| x.sqr()?;
        Unary::Sqrt => |x| x.sqrt()?;
        Unary::Gelu => |x| x.gelu()?;
        Unary::GeluErf => |x| x.gelu_erf()?;
        Unary::Erf => |x| x.erf()?;
        Unary::Relu => |x| x.relu()?;
        Unary::Silu => |x| x.silu()?;
        Unary::Tanh => |x| x.tanh()?;
        Unary::Floor => |x| x.floor()?;
        Unary::Ceil => |x| x.ceil()?;
        Unary::Round => |x| x.round()?;
        Unary::Sign => |x| x.sign()?;
        Unary::Affine => |x; mul: f64, add: f64| x.affine(mul, add)?;
        Unary::Powf => |x; exponent: f64| x.powf(exponent)?;
        Unary::Elu => |x; alpha: f64| x.elu(alpha)?;
        Unary::Clamp => |x; min: f64, max: f64| x.clamp(min, max)?;
        Unary::RoundTo => |x; decimals: i32| x.round_to(decimals)?;
        Unary::DivNumber => |x; number: f64| (x / number)?;
        Unary::EqNumber => |x; number: f64| x.eq(number)?;
        Unary::NeNumber => |x; number: f64| x.ne(number)?;
        Unary::LtNumber => |x; number: f64| x.lt(number)?;
        Unary::LeNumber => |x; number: f64| x.le(number)?;
        Unary::GtNumber => |x; number: f64| x.gt(number)?;
        Unary::GeNumber => |x; number: f64| x.ge(number)?;
    }
}
