//! Patches that have several forms, and whose versions a patch has as the name of a policy.

/// One form of a patch, which an expression may name: `cache_aware@v4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The patch.
    pub flag: &'static str,
    /// The form.
    pub name: &'static str,
    /// The choice in which it is a word.
    pub choice: &'static str,
    /// The version of the policy that it changes, where it stands alone; none is that of the patch ([`home_of`]).
    pub version: Option<&'static str>,
}

/// All forms that can be named so.
pub const VARIANTS: &[Variant] = &[
    Variant {
        flag: "cache_aware",
        name: "v4",
        choice: "cache_aware_version",
        version: Some("7.0"),
    },
    Variant { flag: "cache_aware", name: "merged", choice: "cache_aware_version", version: None },
    Variant {
        flag: "cache_aware_wakeup",
        name: "L1",
        choice: "cache_aware_wakeup_level",
        version: None,
    },
    Variant {
        flag: "cache_aware_wakeup",
        name: "L2",
        choice: "cache_aware_wakeup_level",
        version: None,
    },
    Variant {
        flag: "cache_aware_wakeup",
        name: "L3",
        choice: "cache_aware_wakeup_level",
        version: None,
    },
];

impl Variant {
    /// The form of that name of a patch.
    #[must_use]
    pub fn find(flag: &str, name: &str) -> Option<&'static Variant> {
        VARIANTS.iter().find(|it| it.flag == flag && it.name == name)
    }
}

/// The policy that a patch changes where it stands alone, and of which version if none is named.
#[must_use]
pub fn home_of(flag: &str) -> (&'static str, Option<&'static str>) {
    match flag {
        "cache_aware" => ("eevdf", Some("7.3")),
        "cache_aware_wakeup" => ("eevdf", Some("7.0")),
        _ => ("cfs", None),
    }
}
