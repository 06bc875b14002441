//! What calls cost on software GPUs, as counters: the record, what bounds a kernel, what got worse, as pages. No time is in it, and none
//! is made of it: a counter says what a card has to do, not how long that takes.
//!
//! What each counter counts is written at `gfx_emu::Counters`, by the same names.

mod card;
mod order;
mod page;
mod record;
mod worse;

pub use card::{Bound, CARDS, Card, CardPart};
pub use order::{Order, order, spearman};
pub use page::{csv, json, markdown, parse, text};
pub use record::{COST_VERSION, CostRow, CostRun, Counted, KIND};
pub use worse::{Better, COMPARED, TOLERANCE, Worsening, is_dearer, worse};
