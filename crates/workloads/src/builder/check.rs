//! The checks of a workload before it is built.

use simsched_core::Start;

use super::{Builder, Program};
use crate::error::WorkloadError;
use crate::program::{Inst, LOOPS, Operand};

/// What an operand is a number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Pipe,
    Socket,
    Lock,
    Sem,
    Barrier,
    Futex,
    Task,
    Mark,
    Region,
    Stack,
    Item,
}

/// An instruction's object, to be checked when all threads are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub(super) program: usize,
    pub(super) kind: Kind,
    pub(super) object: Operand,
    /// The turns of the loops around.
    pub(super) turns: [u32; LOOPS],
}

impl Builder {
    pub(super) fn check(&self) -> Result<(), WorkloadError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        self.check_counts()?;
        self.dists.iter().try_for_each(crate::dist::Dist::check)?;
        self.uses.iter().try_for_each(|used| self.check_use(used))?;
        self.check_transfers()?;
        self.check_images()?;
        self.check_start()
    }

    fn check_counts(&self) -> Result<(), WorkloadError> {
        let limit = u64::from(u32::MAX);
        let counts = [
            ("tasks", self.threads.len()),
            ("ends of socket pairs", 2 * self.setup.sockets.len()),
            ("processes", self.setup.procs.len()),
        ];
        match counts.into_iter().find(|(_, count)| *count as u64 > limit) {
            Some((what, count)) => Err(WorkloadError::TooMany { what, count: count as u64, limit }),
            None => Ok(()),
        }
    }

    /// The largest number that an operand can have is one of a declared object.
    fn check_use(&self, used: &Use) -> Result<(), WorkloadError> {
        let program = &self.programs[used.program];
        let Some(args) = program.max_args else { return Ok(()) };
        let (name, count) = self.count(used.kind);
        let max = used.object.max(args, used.turns);
        if max < count {
            return Ok(());
        }
        Err(broken(program, format!("there is no {name} {max}: {count} are declared")))
    }

    fn count(&self, kind: Kind) -> (&'static str, u64) {
        let setup = &self.setup;
        match kind {
            Kind::Pipe => ("pipe", u64::from(setup.pipes)),
            Kind::Socket => ("socket", 2 * setup.sockets.len() as u64),
            Kind::Lock => ("mutex", u64::from(setup.locks)),
            Kind::Sem => ("semaphore", u64::from(setup.sems)),
            Kind::Barrier => ("barrier", setup.barriers.len() as u64),
            Kind::Futex => ("futex word", u64::from(setup.futexes)),
            Kind::Task => ("task", self.threads.len() as u64),
            Kind::Mark => ("mark", setup.marks.len() as u64),
            Kind::Region => ("region", setup.regions.len() as u64),
            Kind::Stack => ("stack", u64::from(self.shared.stacks)),
            Kind::Item => ("number", u64::from(self.shared.items)),
        }
    }

    /// A transfer of nothing would never end.
    fn check_transfers(&self) -> Result<(), WorkloadError> {
        let is_empty = |inst: &Inst| {
            use Inst::{Read, ReadFull, Recv, RecvFull, Send, Write};
            matches!(
                inst,
                Write(_, 0)
                    | Read(_, 0)
                    | ReadFull(_, 0)
                    | Send(_, 0)
                    | Recv(_, 0)
                    | RecvFull(_, 0)
            )
        };
        let Some(at) = self.code.iter().position(is_empty) else { return Ok(()) };
        Err(broken(self.program_at(at), "it moves no byte".to_owned()))
    }

    /// A new image is of a process that some thread is declared of.
    fn check_images(&self) -> Result<(), WorkloadError> {
        for (at, inst) in self.code.iter().enumerate() {
            if let Inst::ExecMmap(proc) = *inst
                && self.threads.iter().all(|thread| thread.proc != proc)
            {
                let what = format!("there is no thread of process {proc}");
                return Err(broken(self.program_at(at), what));
            }
        }
        Ok(())
    }

    /// The program to which an instruction belongs.
    fn program_at(&self, inst: usize) -> &Program {
        let program = self.programs.iter().rfind(|program| program.entry as usize <= inst);
        program.expect("an instruction belongs to a program")
    }

    fn check_start(&self) -> Result<(), WorkloadError> {
        if self.threads.iter().any(|thread| thread.start != Start::Spawned) {
            return Ok(());
        }
        let program = self.programs.first().map_or(String::new(), |p| p.name.clone());
        Err(WorkloadError::Program { program, what: "no task runs at the start".to_owned() })
    }
}

fn broken(program: &Program, what: String) -> WorkloadError {
    WorkloadError::Program { program: program.name.clone(), what }
}
