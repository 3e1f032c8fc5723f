//! A control beside `wakeup_bias_prev` and `select_bias_prev`: a wakee that stays pays for the search that is saved.

use super::{Need, Patch};
use crate::fair::select::{Hook, Points};

pub(super) static PATCH: Patch = Patch {
    more: &[
        "Tells whether a patch gains by where tasks run or by the search that it saves: with this, \
         it gains by the former only.",
    ],
    source: "a control: it tells fewer migrations from a cheaper search",
    needs: Some(Need {
        what: "wakeup_bias_prev or select_bias_prev",
        is_met: |_, patches| patches.is_on("wakeup_bias_prev") || patches.is_on("select_bias_prev"),
    }),
    hook: Some(|_| Box::new(BiasPaysSearch)),
    ..Patch::new(
        "bias_pays_search",
        "who is kept on its previous CPU by wakeup_bias_prev or select_bias_prev pays for the search \
         that this saves",
    )
};

#[derive(Debug)]
struct BiasPaysSearch;

impl Hook for BiasPaysSearch {
    fn points(&self) -> Points {
        Points::PAYS_SEARCH
    }
}
