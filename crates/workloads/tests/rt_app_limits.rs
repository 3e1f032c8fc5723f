//! Files of rt-app that ask for more than a run can hold, or whose texts no terminal should see as they are.

use simsched_topology::Topology;
use simsched_workloads::catalog::{self, Benchmark};

fn read(text: &str) -> Result<Box<dyn Benchmark>, String> {
    let vm2 = Topology::parse(include_str!("data/vm2.toml"), "vm2.toml", None).unwrap();
    let argv = ["rt-app", "f.json"].map(str::to_owned);
    catalog::parse_file(&argv, text, &vm2).map_err(|error| error.to_string())
}

fn refused(text: &str) -> String {
    read(text).err().unwrap()
}

/// A file of so many tasks that fork each other in a circle, where the first is there from the start on.
fn circle(tasks: usize) -> String {
    let task = |nth: usize| {
        let (instances, next) = (usize::from(nth == 0), (nth + 1) % tasks);
        format!("\"t{nth}\":{{\"instance\":{instances},\"loop\":1,\"fork\":\"t{next}\"}}")
    };
    let tasks: Vec<String> = (0..tasks).map(task).collect();
    format!("{{\"tasks\":{{{}}}}}", tasks.join(","))
}

#[test]
fn threads_that_may_be_forked_count_as_those_that_are_there_from_the_start() {
    // Each may be forked 1,024 times, the main thread and the first of the circle are there.
    let workload = read(&circle(63)).unwrap().workload();
    assert_eq!(workload.setup().tasks.len(), 63 * 1024 + 2);
    let said = refused(&circle(64));
    assert!(
        said.starts_with("rt-app: f.json:1:10: 65537 threads are more than the 65536"),
        "{said}"
    );
    let said = refused("{\"tasks\":{\"t\":{\"instance\":65537,\"run\":1}}}");
    assert!(said.contains("65537 threads are more than the 65536"), "{said}");
}

/// Each round of counting found one thread more, so that this one took 1.6 million rounds.
#[test]
fn a_long_circle_of_forks_is_counted_in_a_moment() {
    let said = refused(&circle(1600));
    assert!(said.contains(&format!("{} threads are more", 1600 * 1024 + 1)), "{said}");
}

#[test]
fn timers_that_each_thread_has_for_itself_have_a_limit() {
    let file = |instances: usize| {
        let timer =
            |nth: usize| format!("\"timer{nth}\":{{\"ref\":\"unique{nth}\",\"period\":100}}");
        let timers: Vec<String> = (0..64).map(timer).collect();
        let task = format!("\"instance\":{instances},\"loop\":1,{}", timers.join(","));
        format!("{{\"tasks\":{{\"t\":{{{task}}}}}}}")
    };
    assert!(read(&file(16_384)).is_ok());
    let said = refused(&file(16_385));
    assert!(said.contains("1048640 timers are more than the 1048576"), "{said}");
}

#[test]
fn a_task_has_a_name_that_each_of_its_threads_can_tell() {
    let file = |bytes: usize| format!("{{\"tasks\":{{\"{}\":{{\"run\":1}}}}}}", "n".repeat(bytes));
    assert!(read(&file(255)).is_ok());
    let said = refused(&file(256));
    assert_eq!(said, "rt-app: f.json:1:11: the name of a task has 256 bytes, expected at most 255");
}

/// It would stand in each message of a deadlock, and in lines of traces.
#[test]
fn a_name_that_no_terminal_can_show_is_refused() {
    let said = refused("{\"tasks\":{\"a\":{\"run\":1},\"b\\u001b\":{\"run\":1}}}");
    assert!(
        said.starts_with("rt-app: f.json:1:25: found the character U+001B in the name"),
        "{said}"
    );
}

#[test]
fn a_message_and_a_note_are_one_line_whatever_stands_in_the_file() {
    let said = refused("{\"tasks\":{\"t\":{\"phases\":{\"a\\nb\\u001b[2J\":3}}}}");
    assert!(
        said.contains("phase `a\\nb\\u{1b}[2J`: expected an object, found an integer"),
        "{said}"
    );
    let text = "{\"tasks\":{\"t\":{\"loop\":1,\"x\\ny\":1,\"x\\ny\":2,\"run\":1}}}";
    let notes = read(text).unwrap().without_effect();
    assert!(notes.len() >= 2 && notes.iter().all(|note| note.contains("x\\ny")), "{notes:?}");
}
