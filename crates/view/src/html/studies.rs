//! The published studies' conclusions, tested on this record.

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
             95 % interval of its figure lies where the study has it, does not hold if it lies elsewhere, and cannot be \
             told if it reaches over the border. The intervals are not corrected for their number."
        }
        (scrolling("Conclusions of the studies on this machine", &table))
    };
    Some(Section::text("studies", "The studies\u{2019} conclusions", summary(&tested), content))
}
