//! Any text is claims whose numbers can be compared, or refused with one sentence that begins with the file.
#![no_main]

#[path = "../support/mod.rs"]
mod support;

use libfuzzer_sys::fuzz_target;
use simsched_claims::{Claim, Metric, Values, read};

fn is_usable(claim: &Claim) {
    assert_eq!(Metric::parse(&claim.metric.to_string()).as_ref(), Ok(&claim.metric));
    let ratio = claim.published.ratio();
    assert_eq!(ratio.is_none(), matches!(claim.published.values, Values::Exactly(_)));
    assert!(ratio.is_none_or(|ratio| ratio.is_finite() && ratio >= 0.0), "{claim:?}");
    let spread = claim.published.spread_pct();
    assert!(spread.is_finite() && spread >= 0.0, "{claim:?}");
}

fuzz_target!(|text: &str| {
    let lines = text.split('\n').count();
    match read(text, "c.toml") {
        Err(error) => {
            let said = error.to_string();
            support::one_line(&said);
            assert!(said.starts_with("c.toml:"), "{said}");
        }
        Ok(claims) => claims.iter().for_each(|claim| match claim {
            Ok(claim) => is_usable(claim),
            Err(refused) => {
                let said = refused.to_string();
                support::one_line(&said);
                assert!((1..=lines).contains(&refused.line), "{said}");
                assert!(said.starts_with(&format!("c.toml:{}: claim ", refused.line)), "{said}");
            }
        }),
    }
});
