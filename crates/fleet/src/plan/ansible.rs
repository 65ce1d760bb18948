//! A playbook for Ansible.

use super::Plan;

/// The playbook. Its strings are written as JSON has them, which YAML 1.2 reads as the same.
pub(super) fn playbook(plan: &Plan, nodes: &[String]) -> String {
    let text = |text: &str| serde_json::to_string(text).expect("text is JSON");
    let argv = |words: &[String]| -> String {
        let mut command: Vec<String> = plan.command().iter().map(|word| literal(word)).collect();
        command.extend_from_slice(words);
        command.extend(["--node".to_owned(), "{{ inventory_hostname }}".to_owned()]);
        command.iter().map(|word| format!("            - {}\n", text(word))).collect()
    };
    let fetch = plan.fetch_to.as_ref().map_or(String::new(), |to| {
        format!(
            "    - name: Find the records\n      \
             ansible.builtin.find:\n        \
             paths: {fleet}\n        \
             patterns: \"*.json\"\n      \
             register: records\n    \
             - name: Fetch the records\n      \
             ansible.builtin.fetch:\n        \
             src: \"{{{{ item.path }}}}\"\n        \
             dest: {to}\n        \
             flat: true\n      \
             loop: \"{{{{ records.files }}}}\"\n",
            fleet = text(&literal(&plan.fleet)),
            to = text(&literal(&format!("{}/", to.trim_end_matches('/')))),
        )
    });
    let plays: String = plan
        .rounds(nodes.len())
        .into_iter()
        .map(|(at_once, words)| play(plan, at_once, &argv(&words)))
        .collect();
    let inventory = nodes.join(",") + ",";
    format!(
        "# Start it with: ansible-playbook -i {inventory} FILE\n\
         # Again is harmless: a machine that has measured since it was started ends at once.\n\
         {plays}{fetch}"
    )
}

fn play(plan: &Plan, at_once: usize, argv: &str) -> String {
    format!(
        "- name: Measure what encryption costs on each machine, {at_once} at once\n  \
           hosts: all\n  \
           gather_facts: false\n  \
           become: {sudo}\n  \
           serial: {at_once}\n  \
           tasks:\n    \
             - name: Measure\n      \
               ansible.builtin.command:\n        \
                 argv:\n\
         {argv}      \
               changed_when: true\n      \
               # One machine that cannot measure must not keep the others from it; it leaves the reason.\n      \
               ignore_errors: true\n      \
               ignore_unreachable: true\n",
        sudo = plan.sudo,
    )
}

/// A word in which Ansible finds no expression.
fn literal(word: &str) -> String {
    match word.contains("{{") || word.contains("{%") || word.contains("{#") {
        true => format!("{{% raw %}}{word}{{% endraw %}}"),
        false => word.to_owned(),
    }
}
