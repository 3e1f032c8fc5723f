//! `Classes`: how far each metric of each role can be trusted, for folders that have one seed only.

use crate::reference::Scenario;
use crate::role::role;
use crate::verdict::Class;

/// The classes of metrics by the role of their scenario.
#[derive(Clone, Debug, Default)]
pub struct Classes {
    /// Role, metric and class, in the order of their source.
    rows: Vec<(String, String, Class)>,
}

const TABLE: &str = include_str!("../data/classes.tsv");

impl Classes {
    /// What several seeds of the lab's kernels have shown on its small machines; nothing for a
    /// kernel that is not among them.
    #[must_use]
    pub fn builtin(kernel: &str) -> Classes {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        let mut rows = Vec::new();
        for line in lines {
            let mut cells = line.split('\t');
            let mut cell = || cells.next().expect("the table has four columns");
            let (of, role, metric, class) = (cell(), cell(), cell(), cell());
            if of == kernel {
                let class = Class::from_name(class).expect("the table names classes");
                rows.push((role.to_owned(), metric.to_owned(), class));
            }
        }
        Classes { rows }
    }

    /// Adds what the seeds of a machine of `nr_cpus` CPUs have shown; where a class is there
    /// already, the wider one stays.
    pub fn add(&mut self, scenarios: &[Scenario], nr_cpus: usize) {
        for scenario in scenarios {
            let role = role(&scenario.name, nr_cpus);
            for metric in &scenario.metrics {
                let same = |row: &&mut (String, String, Class)| {
                    (row.0.as_str(), row.1.as_str()) == (role.as_str(), metric.name.as_str())
                };
                match self.rows.iter_mut().find(same) {
                    Some(row) => row.2 = row.2.max(metric.class),
                    None => self.rows.push((role.clone(), metric.name.clone(), metric.class)),
                }
            }
        }
    }

    /// The metrics of a scenario on a machine of `nr_cpus` CPUs, with their classes.
    pub fn of(&self, scenario: &str, nr_cpus: usize) -> impl Iterator<Item = (&str, Class)> {
        let role = role(scenario, nr_cpus);
        let rows = self.rows.iter().filter(move |row| row.0 == role);
        rows.map(|(_, metric, class)| (metric.as_str(), *class))
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Metric;
    use crate::value::Value;

    fn class(classes: &Classes, scenario: &str, nr_cpus: usize, metric: &str) -> Option<Class> {
        classes.of(scenario, nr_cpus).find(|(name, _)| *name == metric).map(|(_, class)| class)
    }

    #[test]
    fn what_is_known_of_the_small_machines_holds_for_the_same_role_on_others() {
        let classes = Classes::builtin("6.1");
        let metric = "fork_distinct_cpus";
        assert_eq!(class(&classes, "hogs-free-24", 24, metric), Some(Class::Exact));
        assert_eq!(class(&classes, "hogs-free-17", 24, metric), None);
        assert_eq!(class(&classes, "share-0-5", 24, "share hog00(nice 0)"), Some(Class::Tight));
        assert!(Classes::builtin("2.4").is_empty());
    }

    #[test]
    fn of_two_machines_the_wider_class_counts() {
        let scenario = |name: &str, class| {
            let values = vec![Value::from(1.0)];
            Scenario::new(name, vec![Metric { name: "m".to_owned(), class, values }])
        };
        let mut classes = Classes::default();
        classes.add(&[scenario("hogs-free-8", Class::Exact)], 8);
        assert_eq!(class(&classes, "hogs-free-16", 16, "m"), Some(Class::Exact));
        classes.add(&[scenario("hogs-free-16", Class::Loose)], 16);
        classes.add(&[scenario("hogs-free-32", Class::Tight)], 32);
        assert_eq!(class(&classes, "hogs-free-16", 16, "m"), Some(Class::Loose));
    }
}
