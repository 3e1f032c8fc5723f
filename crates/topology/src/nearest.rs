//! `nearest`: the names that somebody may have meant by a name that does not exist.

/// Bytes of the longest name that anything here has, and then some.
const LONGEST: usize = 200;

/// The candidates closest to `name`: those that it begins, or that differ by one slip, before all
/// others; of these those at the least distance, in alphabetical order, at most three.
///
/// Close is an edit distance (insert, delete, replace, swap neighbours) of at most a third of the
/// longer name, or one being the beginning of the other. Case and `-` against `_` do not count.
/// There are none for a name of more than 200 bytes.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    // Nobody means a name by a text, and the distance of long ones takes long.
    if name.len() > LONGEST {
        return Vec::new();
    }
    let wanted = folded(name);
    let mut found: Vec<((bool, usize), &str)> =
        candidates.into_iter().filter_map(|c| Some((closeness(&wanted, &folded(c))?, c))).collect();
    found.sort();
    found.dedup();
    let least = found.first().map(|(distance, _)| *distance);
    let closest = found.into_iter().take_while(|(distance, _)| Some(*distance) == least);
    closest.take(3).map(|(_, candidate)| candidate).collect()
}

/// The end of a message: "; did you mean `a` or `b`?", or nothing.
#[must_use]
pub fn did_you_mean(names: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{}`", n.as_ref())).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => format!("; did you mean {last}?"),
        Some((last, rest)) => format!("; did you mean {} or {last}?", rest.join(", ")),
    }
}

fn folded(name: &str) -> Vec<char> {
    name.chars().map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect()
}

/// How close the two are, the closest least: whether `b` is neither one slip away nor begun by `a`,
/// and the edit distance. None if they are strangers.
fn closeness(a: &[char], b: &[char]) -> Option<(bool, usize)> {
    let distance = edit_distance(a, b);
    let is_begun = a.len() >= 3 && b.starts_with(a);
    let is_prefix = is_begun || (b.len() >= 3 && a.starts_with(b));
    let is_close = distance <= a.len().max(b.len()).div_ceil(3) || is_prefix;
    is_close.then_some((distance > 1 && !is_begun, distance))
}

/// Damerau's distance (optimal string alignment), by rows.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_the_name() {
        let names = ["sockets", "cores_per_llc", "llcs_per_socket", "threads_per_core"];
        assert_eq!(nearest("scokets", names), ["sockets"]);
        assert_eq!(nearest("cores-per-llcs", names), ["cores_per_llc"]);
        assert_eq!(nearest("threads", names), ["threads_per_core"]);
        assert_eq!(nearest("colour", names), [""; 0]);
    }

    #[test]
    fn what_a_name_begins_is_nearer_than_what_merely_resembles_it() {
        let names = ["WA_BIAS", "wakeup_bias_prev", "wakeup_bias_prev_threshold"];
        assert_eq!(nearest("wakeup_bias", names), ["wakeup_bias_prev"]);
        // One slip counts as much as a beginning, and is nearer.
        assert_eq!(nearest("cost", ["host", "costs_of_all"]), ["host"]);
    }

    #[test]
    fn a_hint_is_the_end_of_a_sentence() {
        assert_eq!(did_you_mean(&[""; 0]), "");
        assert_eq!(did_you_mean(&["nps4"]), "; did you mean `nps4`?");
        assert_eq!(did_you_mean(&["a", "b", "c"]), "; did you mean `a`, `b` or `c`?");
    }
}
