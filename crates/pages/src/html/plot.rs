//! Curves in a frame with axes. The drawing is stretched to the width there is; its labels are text of
//! the page beside it, which keeps its size.

use super::markup::{colour, esc, num, pct};

/// The height and width of a drawing in its own units.
const SIZE: f64 = 1000.0;

/// A frame, with places from 0 to 1 on both axes; 0 is at the left and at the bottom.
pub(super) struct Plot {
    pub(super) x: Vec<(f64, String)>,
    pub(super) y: Vec<(f64, String)>,
    /// What is drawn.
    pub(super) title: String,
    pub(super) curves: Vec<Curve>,
    pub(super) is_low: bool,
}

/// The curve of a side.
pub(super) struct Curve {
    pub(super) side: usize,
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

impl Plot {
    pub(super) fn html(&self) -> String {
        let at = |(x, y): (f64, f64)| format!("{} {}", num(SIZE * x), num(SIZE * (1.0 - y)));
        let mut lines = String::new();
        for (x, _) in &self.x {
            lines += &format!("M{}L{}", at((*x, 0.0)), at((*x, 1.0)));
        }
        for (y, _) in self.y.iter().filter(|(y, _)| *y > 0.0) {
            lines += &format!("M{}L{}", at((0.0, *y)), at((1.0, *y)));
        }
        let mut svg = format!("<path class=\"grid\" d=\"{lines}\"/>");
        for curve in &self.curves {
            let points: Vec<String> = curve.points.iter().map(|point| at(*point)).collect();
            if points.is_empty() {
                continue;
            }
            svg += &format!(
                "<path class=\"curve\" style=\"{}\" d=\"M{}\"><title>{}</title></path>",
                colour(curve.side),
                points.join("L"),
                esc(&curve.name)
            );
        }
        let low = if self.is_low { " low" } else { "" };
        let title = esc(&self.title);
        let mut html = format!(
            "<div><div class=\"cap\">{title}</div>\n<div class=\"plot{low}\"><svg viewBox=\"0 0 {SIZE} {SIZE}\" \
             preserveAspectRatio=\"none\" role=\"img\">{svg}</svg>"
        );
        for (x, text) in &self.x {
            html += &format!("<span class=\"x\" style=\"left:{}\">{}</span>", pct(*x), esc(text));
        }
        for (y, text) in &self.y {
            html +=
                &format!("<span class=\"y\" style=\"top:{}\">{}</span>", pct(1.0 - y), esc(text));
        }
        html + "</div></div>\n"
    }
}

/// Round numbers from 0 to `most`, four to six of them.
pub(super) fn round_ticks(most: f64) -> Vec<f64> {
    if most.is_nan() || most <= 0.0 {
        return vec![0.0];
    }
    let size = libm::exp10(libm::log10(most / 5.0).floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|k| k * size).find(|step| most / step <= 6.0);
    let step = step.unwrap_or(most);
    let mut ticks = Vec::new();
    let mut tick = 0.0;
    while tick <= most * 1.000_001 {
        ticks.push(tick);
        tick += step;
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(round_ticks(384.0), [0.0, 100.0, 200.0, 300.0]);
        assert_eq!(round_ticks(10.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(round_ticks(0.0), [0.0]);
    }
}
