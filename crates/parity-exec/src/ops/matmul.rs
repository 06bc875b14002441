//! The calls of the products of matrices.

use parity_model::op::Matmul;

use super::candle;

candle! {
    fn row(Matmul) {
        Matmul::Matmul => |a, b| a.matmul(&b)?;
        Matmul::BroadcastMatmul => |a, b| a.broadcast_matmul(&b)?;
        Matmul::Mv => |matrix, vector| matrix.mv(&vector)?;
        Matmul::Dot => |a, b| a.dot(&b)?;
    }
}
