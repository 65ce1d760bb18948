//! The conclusions of the published studies, tested with this record.

use cryptbench_answer::studies::{figures, statement, summary, tested};
use maud::html;

use super::{Section, View, scrolling};

pub(super) fn section(view: &View<'_>) -> Option<Section> {
    let tested = tested(view.lookup);
    if tested.is_empty() {
        return None;
    }
    let table = html! {
        table.numbers {
            thead { tr { th scope="col" { "Conclusion" } th scope="col" { "Here" } th scope="col" { "Figures" } } }
            tbody {
                @for one in &tested {
                    tr {
                        th scope="row" { (statement(one)) }
                        td { (one.told) }
                        td { (figures(one, usize::MAX)) }
                    }
                }
            }
        }
    };
    let content = html! {
        p.about {
            "What four published studies concluded, as far as this record can test it. A conclusion holds here if the \
             95 % interval of its figure is within the range of the study, does not hold if it is outside, and is \
            undecided if it crosses the border. The intervals are not corrected for multiple comparisons."
        }
        (scrolling("Conclusions of the studies on this machine", &table))
    };
    Some(Section::text("studies", "The studies\u{2019} conclusions", summary(&tested), content))
}
