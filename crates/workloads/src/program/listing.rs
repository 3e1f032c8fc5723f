//! Programs as text: the instructions with their numbers, one a line.

use std::fmt;

use super::{ARGS, Inst, Operand, Programs, Reg, When};

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.idx() {
            arg @ 1..=ARGS => write!(f, "arg{}", arg - 1),
            idx => write!(f, "count{}", idx - 1 - ARGS),
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Operand { base, arg, counter, stride } = *self;
        let arg = (arg != Reg::ZERO).then(|| arg.to_string());
        let base = (base != 0 || arg.is_none()).then(|| base.to_string());
        let counter = (counter != Reg::ZERO).then(|| match stride {
            1 => counter.to_string(),
            _ => format!("{stride}*{counter}"),
        });
        let terms: Vec<String> = [base, arg, counter].into_iter().flatten().collect();
        f.write_str(&terms.join("+"))
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let When { clock, after, arg, each_arg, counter, each_turn } = *self;
        write!(f, "clock {clock}+{after}")?;
        if arg != Reg::ZERO {
            write!(f, "+{each_arg}*{arg}")?;
        }
        if counter != Reg::ZERO {
            write!(f, "+{each_turn}*{counter}")?;
        }
        Ok(())
    }
}

/// The instructions with their numbers, one a line.
impl fmt::Display for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.code.iter().enumerate().try_for_each(|(at, inst)| writeln!(f, "{at:>4} {inst}"))
    }
}

impl fmt::Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Inst::Run(row) => write!(f, "run dist {row}"),
            Inst::Pause(row) => write!(f, "pause dist {row}"),
            Inst::Stream(id, row) => write!(f, "stream region {id}, traffic {row}"),
            Inst::Touch(id, kib) => write!(f, "touch region {id}, {kib} KiB"),
            Inst::Sleep(row) => write!(f, "sleep dist {row}"),
            Inst::Write(id, bytes) => write!(f, "write pipe {id}, {bytes} B"),
            Inst::Read(id, bytes) => write!(f, "read pipe {id}, at most {bytes} B"),
            Inst::ReadFull(id, bytes) => write!(f, "read pipe {id}, all of {bytes} B"),
            Inst::PollPipe(id) => write!(f, "poll pipe {id}"),
            Inst::Send(id, bytes) => write!(f, "send socket {id}, {bytes} B"),
            Inst::Recv(id, bytes) => write!(f, "recv socket {id}, at most {bytes} B"),
            Inst::RecvFull(id, bytes) => write!(f, "recv socket {id}, all of {bytes} B"),
            Inst::PollSocket(id) => write!(f, "poll socket {id}"),
            Inst::Shutdown(id) => write!(f, "shut down socket {id}"),
            Inst::AtEnd(to) => write!(f, "at the end of the stream go to {to}"),
            Inst::IfBusy(to) => write!(f, "if it is taken go to {to}"),
            Inst::Goto(to) => write!(f, "go to {to}"),
            Inst::Past { when, to } => write!(f, "when {when} has come go to {to}"),
            Inst::Lock(id) => write!(f, "lock {id}"),
            Inst::Unlock(id) => write!(f, "unlock {id}"),
            Inst::DownRead(id) => write!(f, "take semaphore {id} to read"),
            Inst::DownReadTrylock(id) => write!(f, "try to take semaphore {id} to read"),
            Inst::UpRead(id, ns) => write!(f, "read under semaphore {id} for {ns} ns"),
            Inst::DownWrite(id) => write!(f, "take semaphore {id} to write"),
            Inst::UpWrite(id, ns) => write!(f, "write under semaphore {id} for {ns} ns"),
            Inst::Barrier(id) => write!(f, "barrier {id}"),
            Inst::FutexWait(id, value) => write!(f, "wait futex {id} while {value}"),
            Inst::FutexSet(id, value) => write!(f, "set futex {id} to {value}"),
            Inst::FutexWake(id, count) => write!(f, "wake futex {id}, at most {count}"),
            Inst::Spawn(id) => write!(f, "spawn task {id}"),
            Inst::Join(id) => write!(f, "join task {id}"),
            Inst::WaitAny => write!(f, "wait for any child"),
            Inst::SleepUntil(row) => write!(f, "sleep until {row}"),
            Inst::RunUntil { when, piece } => write!(f, "run until {when} in dist {piece}"),
            Inst::Clock(clock) => write!(f, "note clock {clock}"),
            Inst::Push(item, stack) => write!(f, "push {item} on stack {stack}"),
            Inst::Take(stack) => write!(f, "take stack {stack}"),
            Inst::Next { item, stack, end } => {
                write!(f, "next {item} of stack {stack}, at its end go to {end}")
            }
            Inst::Unless(value, futex, to) => {
                write!(f, "unless futex {futex} is {value} go to {to}")
            }
            Inst::Yield => write!(f, "yield"),
            Inst::SetNice(nice) => write!(f, "nice {nice}"),
            Inst::SetAffinity(id, mask) => write!(f, "confine task {id} to mask {mask}"),
            Inst::Exec => write!(f, "exec"),
            Inst::ExecMmap(proc) => write!(f, "exec_mmap process {proc}"),
            Inst::Mark(mark) => write!(f, "mark {mark}"),
            Inst::Repeat { to, times, .. } => write!(f, "repeat from {to}, {times} times"),
            Inst::Forever(to) => write!(f, "repeat from {to} for ever"),
            Inst::Exit => write!(f, "exit"),
        }
    }
}
