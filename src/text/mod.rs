//! Words of texts in English and Chinese, and how well a text matches a query. Shared by the skill tools and by evolution.

mod bm25f;
mod stem;
mod tokens;

pub use bm25f::{Field, Index};
pub use tokens::{Wanted, each_token, is_ideograph, normalised, tokens};
