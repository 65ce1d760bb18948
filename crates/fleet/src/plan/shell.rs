//! A shell script that starts each machine over ssh.

use super::script::Script;
use super::{FETCHED_BYTES, Plan};

const SCRIPT: &str = r#"#!/bin/sh
# Start it with: sh FILE. Running it again is harmless: a machine that has measured since its last boot exits immediately.
if [ "${1-}" = --one ]; then
    node=$3
    status=0
    ssh -n -o BatchMode=yes -o ConnectTimeout=30 "$node" @MEASURE@"$node$2" || status=1
@FETCH@    [ $status = 0 ] || echo "$node failed" >&2
    exit $status
fi
status=0
@ROUNDS@exit $status
"#;

/// The machine controls names and contents. Only files that are named like its own records and are not larger than
/// records are accepted, and they are stored in a separate directory. The local side sets the modes and types of files.
const FETCH: &str = r#"    to=@TO@/$node
    # At most $2 bytes that the node writes for the command $1, into the file $3.
    take() {
        code=$({ { ssh -n -o BatchMode=yes "$node" "$1" 3>&-; echo $? >&3; } | head -c "$2" > "$3"; } 3>&1)
        [ "$code" = 0 ]
    }
    left=@BYTES@
    if ! mkdir -p "$to" || ! take @LIST@ 1000000 "$to/.names"; then
        rm -f "$to/.names"
        status=1
    else (
        LC_ALL=C
        bad=0
        while IFS= read -r name; do
            case $name in
            *[!A-Za-z0-9._-]*) continue ;;
            "$node"-*.json) own=${name#"$node"-} ;;
            *) continue ;;
            esac
            # Another machine's name may begin with this one's.
            case $own in
            *-*-*-*) continue ;;
            *-*-*) ;;
            *) continue ;;
            esac
            whole=1
            take @FILE@"$name" "$((left + 1))" "$to/.part" || whole=0
            bytes=$(wc -c < "$to/.part") || exit 1
            if [ "$bytes" -gt "$left" ]; then
                echo "$node: its records have more than @BYTES@ bytes; the others are left there" >&2
                bad=1
                break
            fi
            left=$((left - bytes))
            [ $whole = 1 ] && mv -f "$to/.part" "$to/$name" || bad=1
        done < "$to/.names"
        rm -f "$to/.part" "$to/.names"
        exit $bad
    ) || status=1; fi
"#;

const ROUND: &str = r#"printf '%s\n' @NODES@ |
    xargs -n 1 -P @AT_ONCE@ sh "$0" --one @WORDS@ || status=1
"#;

pub(super) fn script(plan: &Plan, nodes: &[String]) -> String {
    // A word for the local shell is a script for the remote shell.
    let remote = |template, places: &[_]| Script::filled(template, places).as_word();
    let started = plan.started();
    let measure = remote("exec @START@ --node ", &[("START", &started)]);
    let fleet = Script::word(&plan.fleet);
    let inside = Script::word(&format!("{}/", plan.fleet.trim_end_matches('/')));
    let fetch = plan.fetch_to.as_ref().map_or(Script::default(), |to| {
        let places = [
            ("TO", &Script::word(to)),
            ("BYTES", &Script::number(FETCHED_BYTES)),
            ("LIST", &remote("cd @FLEET@ && ls", &[("FLEET", &fleet)])),
            ("FILE", &remote("cat @INSIDE@", &[("INSIDE", &inside)])),
        ];
        Script::filled(FETCH, &places)
    });
    let rounds = plan.rounds(nodes.len()).into_iter().map(|(at_once, words)| {
        let words: String = words.iter().map(|word| format!(" {word}")).collect();
        let places = [
            ("NODES", &Script::words(nodes)),
            ("AT_ONCE", &Script::number(at_once)),
            ("WORDS", &Script::word(&words)),
        ];
        Script::filled(ROUND, &places)
    });
    let rounds = Script::joined(rounds);
    let places = [("MEASURE", &measure), ("FETCH", &fetch), ("ROUNDS", &rounds)];
    Script::filled(SCRIPT, &places).into_text()
}
