//! A change to `select_idle_sibling()` of one's own, beside the kernel as it is: the command with one more feature.
//!
//! `cargo run --release -p simsched --example own_patch -- compare --topo genoa --policy eevdf --policy
//! eevdf+same_core_first -- hackbench -g 4 -T -p -l 200`

use std::process::ExitCode;

use simsched::core::{Placement, Reason};
use simsched::policies::fair::reason::ReasonRow;
use simsched::policies::fair::{Hook, Patch, Points, WakeupCx};
use simsched::{Registry, RegistryError};

/// What is listed of it, and what it is made of.
static PATCH: Patch = Patch {
    source: "an example",
    reasons: &[ReasonRow {
        reason: SAME_CORE,
        name: "same_core",
        doc: "`same_core_first`: a thread of the core of the previous CPU was free.",
    }],
    hook: Some(|_| Box::new(SameCoreFirst)),
    ..Patch::new(
        "same_core_first",
        "a wakee stays on the core of its previous CPU while that has a free thread",
    )
};

/// The next number behind those of simsched; `with_patch` says which it is when a release has more of them.
const SAME_CORE: Reason = Reason(20);

#[derive(Debug)]
struct SameCoreFirst;

impl Hook for SameCoreFirst {
    fn points(&self) -> Points {
        Points::BEFORE_TARGET
    }

    fn before_target(&self, cx: &WakeupCx<'_>) -> Option<Placement> {
        let core = cx.world.topology().smt_mask(cx.prev());
        let is_free = |cpu| cx.world.is_allowed(cx.wakee(), cpu) && cx.is_free(cpu);
        let found = core.iter_wrap(cx.prev()).enumerate().find(|(_, cpu)| is_free(*cpu));
        // The waker pays for each CPU that it looks at behind the previous one.
        let at = |(nth, cpu)| Placement {
            scanned: u16::try_from(nth).expect("a core has few threads"),
            ..Placement::at(cpu, SAME_CORE)
        };
        found.map(at)
    }
}

fn registry() -> Result<Registry, RegistryError> {
    Registry::builtin().with_patch(&PATCH)
}

fn main() -> ExitCode {
    simsched::command(&registry().expect("a patch that the fair policies take"))
}

#[test]
fn wakees_stay_on_their_core() {
    use simsched::Simulation;

    let simulation = Simulation::on("genoa").unwrap().registry(&registry().unwrap());
    let simulation = simulation.workload("hackbench -g 1 -f 4 -T -p -l 50").unwrap();
    let runs = simulation.policy("eevdf+same_core_first").unwrap().run().unwrap();
    let json: serde_json::Value = serde_json::from_str(&runs.to_json()).unwrap();
    let stayed = &json["wakeups"]["by_reason"]["same_core"];
    assert!(stayed.as_u64() > Some(0), "{stayed}: {}", json["wakeups"]);
}
