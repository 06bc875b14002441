//! The calls of the ops on two tensors, element by element: on one shape, and broadcast to a common one.

use parity_model::op::Binary;

use super::candle;

candle! {
    fn row(Binary) {
        Binary::Add => |a, b| a.add(&b)?;
        Binary::Sub => |a, b| a.sub(&b)?;
        Binary::Mul => |a, b| a.mul(&b)?;
        Binary::Div => |a, b| a.div(&b)?;
        Binary::Maximum => |a, b| a.maximum(&b)?;
        Binary::Minimum => |a, b| a.minimum(&b)?;
        Binary::Eq => |a, b| a.eq(&b)?;
        Binary::Ne => |a, b| a.ne(&b)?;
        Binary::Lt => |a, b| a.lt(&b)?;
        Binary::Le => |a, b| a.le(&b)?;
        Binary::Gt => |a, b| a.gt(&b)?;
        Binary::Ge => |a, b| a.ge(&b)?;
        Binary::Pow => |a, b| a.pow(&b)?;
    }
}

candle! {
    fn broadcast(Binary) {
        Binary::Add => |a, b| a.broadcast_add(&b)?;
        Binary::Sub => |a, b| a.broadcast_sub(&b)?;
        Binary::Mul => |a, b| a.broadcast_mul(&b)?;
        Binary::Div => |a, b| a.broadcast_div(&b)?;
        Binary::Maximum => |a, b| a.broadcast_maximum(&b)?;
        Binary::Minimum => |a, b| a.broadcast_minimum(&b)?;
        Binary::Eq => |a, b| a.broadcast_eq(&b)?;
        Binary::Ne => |a, b| a.broadcast_ne(&b)?;
        Binary::Lt => |a, b| a.broadcast_lt(&b)?;
        Binary::Le => |a, b| a.broadcast_le(&b)?;
        Binary::Gt => |a, b| a.broadcast_gt(&b)?;
        Binary::Ge => |a, b| a.broadcast_ge(&b)?;
        Binary::Pow => |a, b| a.broadcast_pow(&b)?;
    }
}
