//! Signals: Ctrl-C, SIGTERM and SIGHUP raise a flag that a run looks at now and then, and end the program when they come again; SIGXFSZ does nothing.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::INTERRUPTED;

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C (as a request to terminate and the end of the terminal) does not end the process but raises the flag.
/// A second one ends it: code of a kernel library may loop for ever, and a run looks at the flag between two events.
pub(crate) fn listen() {
    let ask = || {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
    };
    // It fails only when somebody else has installed a handler, and nobody else does.
    let _ = ctrlc::set_handler(ask);
}

/// From now on a file that grows beyond the limit of the process (`ulimit -f`) does not end the process by SIGXFSZ:
/// the write fails with `EFBIG`, and the error is reported as that of a full disk is.
pub(crate) fn survive_the_limit_of_files() {
    #[cfg(unix)]
    {
        let raised = std::sync::Arc::default();
        // Where it fails, the process ends as the system has it.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, raised);
    }
}

/// Whether the user has asked to stop.
pub(crate) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
