//! Models: what is known of them, which one answers, what it used and what that cost.

pub mod catalogue;
pub mod choice;
pub mod price;
pub mod usage;
