//! `Config`: what of the kernel and the machine a run may choose that no policy decides.

use crate::error::SimError;
use crate::launcher::Launcher;
use crate::rng::Seed;

/// Settings of a run beside machine, policy and workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The seed of all random streams.
    pub seed: Seed,
    /// Ticks per second.
    pub hz: u32,
    /// Whether interrupts are left out of `clock_task` (`CONFIG_IRQ_TIME_ACCOUNTING`).
    pub irq_accounting: bool,
    /// Whether the ticks of the CPUs are spread over half a period (boot option `skew_tick=1`).
    pub skew_tick: bool,
    /// Spread of each price around its value, in 1024ths; 51 is +-5 %.
    pub jitter_1024: u32,
    /// Whether cache lines, caches, clocks and idle states take time.
    pub hardware: HardwareModel,
    /// Whether clocks depend on how many cores of a socket are busy; else all have that of the data sheet.
    pub turbo: bool,
    /// The deepest idle state that CPUs enter, by its place behind the shallowest (boot option
    /// `intel_idle.max_cstate`).
    pub max_cstate: u8,
    /// Whether a read of a full pipe wakes a writer even if it frees no slot; `None` is what the policy's kernel does
    /// ([`KernelRules::ipc`](crate::KernelRules::ipc)).
    pub spurious_writer_wakeups: Option<bool>,
    /// Which process forks the first task of the workload, and so which `wakee_flips` its tasks inherit. `None`
    /// is [`Launcher::None`] here; the command sets the launcher of the workload.
    pub launcher: Option<Launcher>,
    /// Whether the threads of the kernel run beside the workload. The core does not read it: they are tasks of the
    /// workload, and the command adds them.
    pub kthreads: bool,
    /// Whether ops on pipes that neither block nor wake are done in a loop of their own. The run is the
    /// same without it, and takes longer.
    pub batch_ops: bool,
}

/// What of the hardware takes time, beside the instructions of the kernel's paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HardwareModel {
    /// All that the machine's file says.
    #[default]
    Priced,
    /// Nothing: lines, messages, refills and the exit from idle states take no time, and every CPU
    /// runs at full speed.
    Free,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            seed: Seed(1),
            hz: 250,
            irq_accounting: true,
            skew_tick: false,
            jitter_1024: 51,
            hardware: HardwareModel::Priced,
            turbo: true,
            max_cstate: MAX_CSTATE,
            spurious_writer_wakeups: None,
            launcher: None,
            kthreads: false,
            batch_ops: true,
        }
    }
}

/// A setting as it is listed for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingInfo {
    /// Its name.
    pub name: &'static str,
    /// Its default, as it would be written, or what decides it.
    pub default: &'static str,
    /// Which values it takes.
    pub range: &'static str,
    /// What it means, and whose rule it is.
    pub doc: &'static str,
}

/// All settings that [`Config::set`] knows.
pub const SETTINGS: &[SettingInfo] = &[
    SettingInfo {
        name: "hz",
        default: "250",
        range: HZ_VALUES,
        doc: "ticks per second (CONFIG_HZ; 250: Debian, 1000: many test kernels)",
    },
    SettingInfo {
        name: "irq_accounting",
        default: "on",
        range: "on or off",
        doc: "interrupts are not charged to tasks (CONFIG_IRQ_TIME_ACCOUNTING; Debian's 6.1: off)",
    },
    SettingInfo {
        name: "skew_tick",
        default: "off",
        range: "on or off",
        doc: "the CPUs' ticks are spread over half a period (boot option skew_tick)",
    },
    SettingInfo {
        name: "jitter_1024",
        default: "51",
        range: "0..=512",
        doc: "spread of each price around its value, in 1024ths (51: +-5 %)",
    },
    SettingInfo {
        name: "hardware",
        default: "priced",
        range: "priced or free",
        doc: "free: cache lines, refills, clocks and idle exits take no time, only instructions do",
    },
    SettingInfo {
        name: "turbo",
        default: "on",
        range: "on or off",
        doc: "clocks depend on how many cores of a socket are busy (off: all have that of the data sheet; nothing changes where the machine file has no clocks)",
    },
    SettingInfo {
        name: "max_cstate",
        default: "9",
        range: CSTATES,
        doc: "the deepest idle state that CPUs enter, by its place behind the shallowest in the machine \
              file (boot option intel_idle.max_cstate; 2 on Sapphire Rapids: C6 off)",
    },
    SettingInfo {
        name: "spurious_writer_wakeups",
        default: "the policy's",
        range: "on or off",
        doc: "a read of a full pipe wakes a writer even if it frees no slot (Linux <= 6.13); by default as the \
              kernel of the policy has it",
    },
    SettingInfo {
        name: "launcher",
        default: "script",
        range: Launcher::VALUES,
        doc: "the process that forks the first task of the workload: its tasks inherit wakee_flips (script 0 \
              to 14, login 0 to 17, ssh 10 to 92, service 3 to 38, boot 71 to 160, lab 95, or the number \
              given) and wakee_flip_decay_ts, one value for each seed; lab scenarios and recordings have \
              none unless it is given",
    },
    SettingInfo {
        name: "kthreads",
        default: "off",
        range: "on or off",
        doc: "the kernel's own threads run beside the workload: a kworker of each CPU (vmstat_update()), rcu_preempt, \
              kcompactd of each node, one for writeback, from 7.2 on kdamond; as often as in recordings of Debian's \
              6.1 and 7.3. A CPU that one of them wakes up balances, and where it runs beside a task the tick \
              kicks idle CPUs to do so (reports count them; lab scenarios always have them, recordings never)",
    },
    SettingInfo {
        name: "batch_ops",
        default: "on",
        range: "on or off",
        doc: "the simulator does pipe ops that neither block nor wake in one loop: same run, less time",
    },
];

impl Config {
    /// Whether all values are in range.
    ///
    /// # Errors
    /// Names the first setting that is not.
    pub fn check(&self) -> Result<(), SimError> {
        let wrong = |name, found, want| Err(setting_error(name, &format!("{found}"), want));
        match self {
            Config { hz, .. } if !is_hz(*hz) => wrong("hz", *hz, HZ_VALUES),
            Config { jitter_1024: j @ 513.., .. } => wrong("jitter_1024", *j, "0..=512"),
            Config { max_cstate: c, .. } if !is_cstate(u32::from(*c)) => {
                wrong("max_cstate", u32::from(*c), CSTATES)
            }
            _ => Ok(()),
        }
    }

    /// Changes the setting `name`, and tells whether there is one of that name.
    ///
    /// # Errors
    /// When the setting does not take this value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool, SimError> {
        match name {
            "hz" => self.hz = number(name, value, HZ_VALUES, is_hz)?,
            "irq_accounting" => self.irq_accounting = switch(name, value)?,
            "skew_tick" => self.skew_tick = switch(name, value)?,
            "jitter_1024" => self.jitter_1024 = number(name, value, "0..=512", |v| v <= 512)?,
            "hardware" => {
                self.hardware = match value {
                    "priced" => HardwareModel::Priced,
                    "free" => HardwareModel::Free,
                    _ => return Err(setting_error(name, value, "priced or free")),
                };
            }
            "turbo" => self.turbo = switch(name, value)?,
            "max_cstate" => {
                let state = number(name, value, CSTATES, is_cstate)?;
                self.max_cstate = u8::try_from(state).unwrap_or(MAX_CSTATE);
            }
            "spurious_writer_wakeups" => {
                self.spurious_writer_wakeups = Some(switch(name, value)?);
            }
            "launcher" => {
                let found = Launcher::parse(value);
                self.launcher =
                    Some(found.ok_or_else(|| setting_error(name, value, Launcher::VALUES))?);
            }
            "kthreads" => self.kthreads = switch(name, value)?,
            "batch_ops" => self.batch_ops = switch(name, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The tick rates of Linux.
const HZ_VALUES: &str = "100, 250, 300 or 1000";

/// Which idle states there may be behind the shallowest.
const CSTATES: &str = "1..=9";
const MAX_CSTATE: u8 = 9;

fn is_cstate(value: u32) -> bool {
    (1..=u32::from(MAX_CSTATE)).contains(&value)
}

fn setting_error(name: &str, found: &str, want: &str) -> SimError {
    SimError::Setting(format!("setting {name}: found '{found}', expected {want}"))
}

fn is_hz(value: u32) -> bool {
    matches!(value, 100 | 250 | 300 | 1000)
}

fn switch(name: &str, value: &str) -> Result<bool, SimError> {
    match value {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err(setting_error(name, value, "on or off")),
    }
}

fn number(name: &str, value: &str, want: &str, ok: fn(u32) -> bool) -> Result<u32, SimError> {
    let found = value.parse().ok().filter(|v| ok(*v));
    found.ok_or_else(|| setting_error(name, value, want))
}
