//! `Launcher`: the process that forks the first task of a workload, and the `wakee_flips` that are inherited of it.
//!
//! `dup_task_struct()` copies `wakee_flips` and `wakee_flip_decay_ts`, exec keeps them, and only a wakeup by the
//! task itself halves them (`record_wakee()`). So a benchmark begins with those of a shell, a daemon or PID 1.
//! The distributions were measured at 1,552 starts in Debian guests (systemd 257, kernels 7.3 and 6.12).

use rand::Rng;

use crate::rng::{Seed, Stream};
use crate::time::Nanos;

/// The process that forks the first task of the workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Launcher {
    /// One that has woken nobody: no flips.
    #[default]
    None,
    /// A shell script that prints.
    Script,
    /// An interactive shell in which the command was typed.
    Login,
    /// `ssh HOST COMMAND`.
    Ssh,
    /// `systemctl start` or `systemd-run` on a system that has run for a while.
    Service,
    /// The boot, which starts it as one of its services.
    Boot,
    /// The first process of the kernel lab's guests, which is that of the boot itself.
    Lab,
    /// One with so many flips, last halved a second ago.
    Flips(u32),
}

/// What the first task of the workload inherits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// How often its ancestors have changed whom they wake (`wakee_flips`).
    pub wakee_flips: u32,
    /// How long ago that was halved (`wakee_flip_decay_ts`): the first wakeup by a task that comes more than a
    /// second after it halves it again.
    pub since_halving: Nanos,
}

/// The quantiles of a distribution: 0, 10, 25, 50, 75, 90 and 100 %.
type Quantiles = [u32; 7];

const RANKS: Quantiles = [0, 100, 250, 500, 750, 900, 1000];

/// The quantiles of `wakee_flips` at birth, and of the age of `wakee_flip_decay_ts` in ms.
const MEASURED: [(Launcher, Quantiles, Quantiles); 5] = [
    (Launcher::Script, [0, 0, 1, 3, 5, 8, 14], [0, 4, 204, 408, 616, 820, 976]),
    (Launcher::Login, [0, 1, 1, 2, 3, 4, 17], [0, 0, 4, 164, 320, 672, 976]),
    (Launcher::Ssh, [10, 10, 13, 15, 16, 30, 92], [116, 116, 116, 124, 132, 284, 308]),
    (Launcher::Service, [3, 7, 10, 16, 22, 25, 38], [16, 20, 24, 24, 28, 40, 396]),
    (Launcher::Boot, [71, 77, 81, 89, 100, 133, 160], [28, 32, 36, 52, 568, 640, 652]),
];

/// The `wakee_flips` with which the threads of the benchmarks were born in the recordings of 7.3.
const LAB: u32 = 95;

const SECOND: Nanos = Nanos::from_secs(1);

impl Launcher {
    /// What [`Launcher::parse`] takes, for messages.
    pub const VALUES: &str =
        "none, script, login, ssh, service, boot, lab or a number up to 1000000";

    /// All that have a name.
    pub const NAMED: [(&str, Launcher); 7] = [
        ("none", Launcher::None),
        ("script", Launcher::Script),
        ("login", Launcher::Login),
        ("ssh", Launcher::Ssh),
        ("service", Launcher::Service),
        ("boot", Launcher::Boot),
        ("lab", Launcher::Lab),
    ];

    /// The launcher of this name, or with so many flips.
    #[must_use]
    pub fn parse(text: &str) -> Option<Launcher> {
        let named = Launcher::NAMED.iter().find(|(name, _)| *name == text);
        let flips = || text.parse().ok().filter(|flips| *flips <= 1_000_000);
        named.map(|(_, launcher)| *launcher).or_else(|| flips().map(Launcher::Flips))
    }

    /// The flips of the workload's tasks in the run with this seed: one value for all of them.
    #[must_use]
    pub fn inherited(self, seed: Seed) -> Inherited {
        let exactly = |wakee_flips| Inherited { wakee_flips, since_halving: SECOND };
        let (flips, ages) = match self {
            Launcher::None => return exactly(0),
            Launcher::Lab => return exactly(LAB),
            Launcher::Flips(flips) => return exactly(flips),
            _ => {
                let measured = MEASURED.iter().find(|(launcher, ..)| *launcher == self);
                measured.map(|(_, flips, ages)| (flips, ages)).expect("all others were measured")
            }
        };
        let mut stream = seed.stream("launcher", 0);
        let wakee_flips = sample(&mut stream, flips);
        let age = Nanos::from_millis(u64::from(sample(&mut stream, ages)));
        Inherited { wakee_flips, since_halving: age }
    }
}

/// A random number of the distribution with these quantiles, uniform between two of them.
fn sample(stream: &mut Stream, quantiles: &Quantiles) -> u32 {
    let rank = u32::try_from(stream.next_u64() % 1000).expect("below 1000");
    let above = RANKS.iter().position(|at| *at > rank).expect("the last one is 1000");
    let [(low, from), (high, to)] = [above - 1, above].map(|at| (RANKS[at], quantiles[at]));
    let width = high - low;
    // Rounded to the nearest.
    from + ((to - from) * (rank - low) + width / 2) / width
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(launcher: Launcher, of: impl Fn(Inherited) -> u32) -> Vec<u32> {
        let mut all: Vec<u32> = (1..=2000).map(|seed| of(launcher.inherited(Seed(seed)))).collect();
        all.sort_unstable();
        all
    }

    /// 2,000 seeds have the measured quantiles, to within three of their own standard errors.
    #[test]
    fn the_quantiles_are_the_measured_ones() {
        for (launcher, flips, ages) in MEASURED {
            let age = |it: Inherited| u32::try_from(it.since_halving.get() / 1_000_000).unwrap();
            for (found, want) in
                [(sampled(launcher, |it| it.wakee_flips), flips), (sampled(launcher, age), ages)]
            {
                for (rank, want) in RANKS.iter().zip(want).skip(1).take(5) {
                    let nth = |rank: u32| found[(rank as usize * found.len() / 1000).min(1999)];
                    let (low, high) = (nth(rank - 34), nth((rank + 34).min(1000)));
                    assert!(
                        (low..=high).contains(&want),
                        "{launcher:?} {rank}: {low} {want} {high}"
                    );
                }
                assert!(found[0] >= want[0] && found[1999] <= want[6], "{launcher:?}");
            }
        }
    }

    #[test]
    fn a_launcher_has_a_name_or_a_number() {
        assert_eq!(Launcher::parse("script"), Some(Launcher::Script));
        assert_eq!(Launcher::parse("95"), Some(Launcher::Flips(95)));
        for bad in ["", "Script", "-1", "1000001", "shell"] {
            assert_eq!(Launcher::parse(bad), None, "{bad}");
        }
        let exactly = Launcher::Flips(7).inherited(Seed(3));
        assert_eq!(exactly, Inherited { wakee_flips: 7, since_halving: SECOND });
    }
}
