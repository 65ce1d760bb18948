//! The contents of the studies, and the commands that show them.

use cryptbench_studies::items::{Item, items, table};
use cryptbench_studies::{Files, Letter, replay};

fn all(letters: &[Letter]) -> Vec<Item> {
    let files = Files::published();
    items(&files, &replay(&files, letters).unwrap()).unwrap()
}

#[test]
fn every_conclusion_is_an_item_and_has_a_command() {
    let files = Files::published();
    let conclusions: usize =
        replay(&files, &[]).unwrap().iter().map(|study| study.conclusions.len()).sum();
    let all = all(&[]);
    assert_eq!(all.iter().filter(|item| item.kind == "conclusion").count(), conclusions);
    assert!(all.iter().all(|item| item.command.starts_with("cryptbench ")));
    assert_eq!(table(&all).rows.len(), all.len());
    // A line for a conclusion that no study has would not replace anything.
    let lines = files.text("items").unwrap().lines().count() - 1;
    let replaced = files.text("items").unwrap().matches(",conclusion,").count();
    assert_eq!(all.len(), lines - replaced + conclusions);
    for id in files.text("items").unwrap().lines().filter_map(|l| {
        let mut fields = l.split(',');
        (fields.nth(1) == Some("conclusion")).then(|| fields.next().unwrap())
    }) {
        let has = |s: &cryptbench_studies::Replay| s.conclusions.iter().any(|c| c.id == id);
        assert!(replay(&files, &[]).unwrap().iter().any(has), "{id}");
    }
}

#[test]
fn one_study_has_its_own_items_and_states_say_what_is_needed() {
    let own = all(&[Letter::C]);
    assert!(own.iter().all(|item| item.study == Letter::C) && own.len() > 15);
    let of = |name: &str| own.iter().find(|item| item.item.starts_with(name)).unwrap();
    assert_eq!(of("eCryptfs").state(), "works with a kernel with eCryptfs, root");
    // It is tested on a record here, although the study's own numbers are not sufficient.
    assert_eq!(of("LUKS loses").command, "cryptbench run --study C");
    assert_eq!(of("LUKS loses").state(), "works");
}
