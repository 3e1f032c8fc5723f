//! Where the tasks of a workload are: in the root group, or in groups below it.

/// How many levels of task groups lie between the root group and the tasks of the workload.
///
/// All its tasks are in the lowest group, as the threads of a container are. Threads of the machine's
/// kernel stay in the root group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grouping(u8);

/// The settings by levels.
const NAMES: [&str; 9] = [
    "root",
    "container",
    "nested:2",
    "nested:3",
    "nested:4",
    "nested:5",
    "nested:6",
    "nested:7",
    "nested:8",
];

impl Grouping {
    /// All tasks are in the root group.
    pub const ROOT: Grouping = Grouping(0);

    /// The deepest nesting.
    pub const MAX_LEVELS: usize = NAMES.len() - 1;

    /// All settings.
    pub const VALUES: &'static [&'static str] = &NAMES;

    /// Whether there are no groups but the root.
    #[must_use]
    pub const fn is_root(self) -> bool {
        self.0 == 0
    }

    /// The levels.
    #[must_use]
    pub const fn levels(self) -> u8 {
        self.0
    }

    /// The setting.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES[usize::from(self.0)]
    }

    /// The setting of this name; `nested:1` is `container`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Grouping> {
        let name = if name == "nested:1" { NAMES[1] } else { name };
        let levels = NAMES.iter().position(|known| *known == name)?;
        u8::try_from(levels).ok().map(Grouping)
    }
}
