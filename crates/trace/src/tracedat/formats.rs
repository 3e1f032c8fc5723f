//! What a `trace.dat` says of itself: how pages, entries and the events of group `sched` are laid out, in the
//! words of the files `header_page`, `header_event` and `format` of tracefs.

use std::fmt::Write;

/// The head of a page of the ring buffer of a 64-bit kernel.
pub(super) const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

/// The head of an entry in it.
pub(super) const HEADER_EVENT: &str = "# compressed entry header\n\
    \ttype_len    :    5 bits\n\
    \ttime_delta  :   27 bits\n\
    \tarray       :   32 bits\n\
    \n\
    \tpadding     : type == 29\n\
    \ttime_extend : type == 30\n\
    \ttime_stamp  : type == 31\n\
    \tdata max type_len  == 28\n";

/// A field of an event: its C type, its name, its size in bytes, and whether it has a sign.
struct Field(&'static str, &'static str, usize, bool);

/// A tracepoint.
pub(super) struct Format {
    name: &'static str,
    /// Its number in this file.
    pub(super) id: u16,
    fields: &'static [Field],
    print: &'static str,
}

/// What all events begin with.
const COMMON: [Field; 4] = [
    Field("unsigned short", "common_type", 2, false),
    Field("unsigned char", "common_flags", 1, false),
    Field("unsigned char", "common_preempt_count", 1, false),
    Field("int", "common_pid", 4, true),
];

const COMM: usize = super::COMM;

/// The fields of `sched_waking`, `sched_wakeup` and `sched_wakeup_new`.
const WAKEUP: &[Field] = &[
    Field("char", "comm", COMM, false),
    Field("pid_t", "pid", 4, true),
    Field("int", "prio", 4, true),
    Field("int", "target_cpu", 4, true),
];

const WAKEUP_PRINT: &str = "\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, \
    REC->prio, REC->target_cpu";

/// All that are written. The fields are those of Linux 6.1.
pub(super) const SWITCH: Format = Format {
    name: "sched_switch",
    id: 316,
    fields: &[
        Field("char", "prev_comm", COMM, false),
        Field("pid_t", "prev_pid", 4, true),
        Field("int", "prev_prio", 4, true),
        Field("long", "prev_state", 8, true),
        Field("char", "next_comm", COMM, false),
        Field("pid_t", "next_pid", 4, true),
        Field("int", "next_prio", 4, true),
    ],
    print: "\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d \
            next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_prio, (REC->prev_state & 0xff) ? \
            __print_flags(REC->prev_state & 0xff, \"|\", { 0x01, \"S\" }, { 0x02, \"D\" }, \
            { 0x04, \"T\" }, { 0x08, \"t\" }, { 0x10, \"X\" }, { 0x20, \"Z\" }, { 0x40, \"P\" }, \
            { 0x80, \"I\" }) : \"R\", REC->prev_state & 0x100 ? \"+\" : \"\", REC->next_comm, \
            REC->next_pid, REC->next_prio",
};
pub(super) const WAKEUP_NEW: Format =
    Format { name: "sched_wakeup_new", id: 317, fields: WAKEUP, print: WAKEUP_PRINT };
pub(super) const WAKEUP_OLD: Format =
    Format { name: "sched_wakeup", id: 318, fields: WAKEUP, print: WAKEUP_PRINT };
pub(super) const WAKING: Format =
    Format { name: "sched_waking", id: 319, fields: WAKEUP, print: WAKEUP_PRINT };
pub(super) const MIGRATE: Format = Format {
    name: "sched_migrate_task",
    id: 315,
    fields: &[
        Field("char", "comm", COMM, false),
        Field("pid_t", "pid", 4, true),
        Field("int", "prio", 4, true),
        Field("int", "orig_cpu", 4, true),
        Field("int", "dest_cpu", 4, true),
    ],
    print: "\"comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d\", REC->comm, REC->pid, REC->prio, \
            REC->orig_cpu, REC->dest_cpu",
};
pub(super) const FORK: Format = Format {
    name: "sched_process_fork",
    id: 310,
    fields: &[
        Field("char", "parent_comm", COMM, false),
        Field("pid_t", "parent_pid", 4, true),
        Field("char", "child_comm", COMM, false),
        Field("pid_t", "child_pid", 4, true),
    ],
    print: "\"comm=%s pid=%d child_comm=%s child_pid=%d\", REC->parent_comm, REC->parent_pid, \
            REC->child_comm, REC->child_pid",
};
pub(super) const EXIT: Format = Format {
    name: "sched_process_exit",
    id: 313,
    fields: &[
        Field("char", "comm", COMM, false),
        Field("pid_t", "pid", 4, true),
        Field("int", "prio", 4, true),
    ],
    print: "\"comm=%s pid=%d prio=%d\", REC->comm, REC->pid, REC->prio",
};

/// All of them.
pub(super) const ALL: [&Format; 7] =
    [&FORK, &EXIT, &MIGRATE, &SWITCH, &WAKEUP_NEW, &WAKEUP_OLD, &WAKING];

impl Format {
    /// The file `format` of the event.
    pub(super) fn text(&self) -> String {
        let mut text = format!("name: {}\nID: {}\nformat:\n", self.name, self.id);
        let mut offset = 0;
        for (nth, Field(kind, name, size, signed)) in COMMON.iter().chain(self.fields).enumerate() {
            let gap = if nth == COMMON.len() { "\n" } else { "" };
            let array = if *kind == "char" { format!("[{size}]") } else { String::new() };
            // A string cannot fail to grow.
            let _ = writeln!(
                text,
                "{gap}\tfield:{kind} {name}{array};\toffset:{offset};\tsize:{size};\tsigned:{};",
                u8::from(*signed)
            );
            offset += size;
        }
        text + "\nprint fmt: " + self.print + "\n"
    }
}
