//! A playbook for Ansible.

use std::fmt::Write as _;

use super::{FETCHED_BYTES, Plan};

/// The playbook.
pub(super) fn playbook(plan: &Plan, nodes: &[String]) -> String {
    let fetch = plan.fetch_to.as_ref().map_or(String::new(), |to| fetch(&plan.fleet, to));
    let plays: String = plan
        .rounds(nodes.len())
        .into_iter()
        .map(|(at_once, words)| play(plan, at_once, &[plan.command(), words].concat()))
        .collect();
    let inventory = nodes.join(",") + ",";
    format!(
        "# Start it with: ansible-playbook -i {inventory} FILE\n\
         # Running it again is harmless: a machine that has measured since its last boot exits immediately.\n\
         {plays}{fetch}"
    )
}

fn play(plan: &Plan, at_once: usize, command: &[String]) -> String {
    format!(
        r#"- name: Measure what encryption costs on each machine, {at_once} at once
  hosts: all
  gather_facts: false
  become: {sudo}
  serial: {at_once}
  tasks:
    - name: Measure
      ansible.builtin.command:
        argv: "{{{{ words + ['--node', inventory_hostname] }}}}"
      vars:
        words: {words}
      changed_when: true
      # One machine that cannot measure must not keep the others from it; it leaves the reason.
      ignore_errors: true
      ignore_unreachable: true
"#,
        sudo = plan.sudo,
        words = texts(command.iter().map(String::as_str), 10),
    )
}

/// Tasks that fetch the records. The machine controls names and contents, so only files named like its own records are
/// accepted, and they are stored in a separate directory.
fn fetch(fleet: &str, to: &str) -> String {
    format!(
        r#"    - name: Find the records
      ansible.builtin.find:
        paths: {fleet}
        patterns: "*.json"
      register: records
    - name: Fetch the records
      ansible.builtin.fetch:
        src: "{{{{ item.path }}}}"
        dest: "{{{{ to[0] }}}}/{{{{ inventory_hostname }}}}/{{{{ item.path | basename }}}}"
        flat: true
      vars:
        to: {to}
        own: '^{{{{ inventory_hostname | regex_escape }}}}(-[0-9a-z]+){{3}}([.]failed)?[.]json\Z'
      loop: "{{{{ records.files | default([]) }}}}"
      when:
        - item.path | basename is match(own)
        - item.size | int <= {FETCHED_BYTES}
"#,
        fleet = texts([fleet], 10),
        to = texts([to], 10),
    )
}

/// A list of texts that neither YAML nor Ansible interprets. A single text also becomes a list, because an `!unsafe`
/// scalar can turn into a number.
fn texts<'a>(texts: impl IntoIterator<Item = &'a str>, indent: usize) -> String {
    let mut out = "!unsafe".to_owned();
    for text in texts {
        let _ = write!(out, "\n{:indent$}- \"", "");
        for c in text.chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                ' '..='~' => out.push(c),
                _ if c.is_alphanumeric() => out.push(c),
                // YAML does not accept every character literally.
                _ => {
                    let _ = write!(out, "\\U{:08x}", u32::from(c));
                }
            }
        }
        out.push('"');
    }
    out
}
