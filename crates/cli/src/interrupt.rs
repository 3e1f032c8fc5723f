//! Ctrl-C, SIGTERM and SIGHUP: a flag that a run looks at now and then.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C (as a request to terminate and the end of the terminal) does not end the process but raises the flag.
pub(crate) fn listen() {
    // It fails only when somebody else has installed a handler, and nobody else does.
    let _ = ctrlc::set_handler(|| ASKED.store(true, Ordering::Relaxed));
}

/// Whether the user has asked to stop.
pub(crate) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
