//! Malformed requests, many clients, slow clients, and clients that do not read: the server continues to answer.

use std::io::{Read as _, Write as _};

use crate::site::Place;

#[test]
fn malformed_requests_are_refused_and_nothing_more() {
    let place = Place::new();
    let host = place.host();
    let token = &place.token;
    let requests: Vec<Vec<u8>> = vec![
        b"\r\n\r\n\r\n".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        b"GET / HTTP/9.9\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        vec![0; 100_000],
        vec![b'A'; 100_000],
        format!("GET /{} HTTP/1.1\r\nHost: {host}\r\n\r\n", "x".repeat(60_000)).into_bytes(),
        format!("GET /{token}/ HTTP/1.1\r\nHost: {host}\r\nX: {}\r\n\r\n", "y".repeat(60_000)).into_bytes(),
        format!("GET /{token}/ HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(5000)).into_bytes(),
        format!("GET /{token}/ HTTP/1.1\r\nHost: {host}\r\nHost: evil\r\nConnection: close\r\n\r\n").into_bytes(),
        format!("GET /{token}/ HTTP/1.0\r\n\r\n").into_bytes(),
        format!("GET /{token}/%zz%ff HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").into_bytes(),
        format!("POST /{token}/api/run HTTP/1.1\r\nHost: {host}\r\nContent-Length: -1\r\n\r\n").into_bytes(),
        format!("POST /{token}/api/run HTTP/1.1\r\nHost: {host}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n").into_bytes(),
        format!("POST /{token}/api/run HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\n").into_bytes(),
        format!("GET /{token}/api/events HTTP/1.1\r\nHost: {host}\r\nLast-Event-ID: {}\r\nConnection: close\r\nOrigin: x\r\n\r\n", "9".repeat(400)).into_bytes(),
    ];
    for request in requests {
        let answer = place.raw(&request);
        let status = crate::site::status(&answer);
        let start = String::from_utf8_lossy(&request[..request.len().min(60)]).into_owned();
        assert!(status == 0 || (400..500).contains(&status), "{start:?}: {answer:.300}");
        assert_eq!(place.get("/api/runs").0, 200, "after {start:?}");
    }
}

#[test]
fn orders_that_are_none_start_nothing() {
    let place = Place::new();
    let target = place.target().display().to_string();
    for (body, expected) in [
        ("", 400),
        ("null", 400),
        ("[]", 422),
        ("{\"target\":1}", 400),
        ("{\"target\":\"/tmp\",\"shell\":\"rm\"}", 400),
        (&"[".repeat(20_000), 400),
        (&format!("{{\"target\":\"{}\"}}", "x".repeat(40_000)), 413),
        ("{\"target\":\"relative\"}", 422),
        ("{\"target\":\"--destroy\"}", 422),
        ("{\"target\":\"/tmp/../etc\"}", 422),
        (
            &format!("{{\"target\":\"{target}\",\"options\":{{\"profile\":[\"/etc/passwd\"]}}}}"),
            422,
        ),
        (&format!("{{\"target\":\"{target}\",\"options\":{{\"system\":[\"absent\"]}}}}"), 422),
        (&format!("{{\"target\":\"{target}\",\"options\":{{\"cipher\":[\"--json\"]}}}}"), 422),
        (&format!("{{\"target\":\"{target}\",\"budget_s\":0}}"), 400),
        (&format!("{{\"target\":\"{target}\",\"options\":{{\"size\":99999999999}}}}"), 400),
    ] {
        let (status, answer) = place.post("/api/run", body);
        assert_eq!(status, expected, "{body:.100}: {answer}");
    }
    assert!(!place.dir.path().join("arguments").exists(), "nothing was started");
}

#[test]
fn a_hundred_clients_at_once_are_all_answered() {
    let place = Place::new();
    let place = &place;
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..100)
            .map(|n| {
                let path = ["/", "/api/catalogue", "/api/runs", "/js/app.js"][n % 4];
                scope.spawn(move || (0..5).all(|_| place.get(path).0 == 200))
            })
            .collect();
        assert!(clients.into_iter().all(|client| client.join().unwrap()));
    });
}

#[test]
fn slow_and_silent_clients_do_not_keep_others_waiting() {
    let place = Place::new();
    // A head that arrives byte by byte, a body that does not arrive, and connections on which nothing is sent.
    let mut slow = place.connect();
    slow.write_all(b"GET").unwrap();
    let mut half = place.connect();
    let head = format!(
        "POST /{}/api/run HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{",
        place.token,
        place.host()
    );
    half.write_all(head.as_bytes()).unwrap();
    let silent: Vec<_> = (0..40).map(|_| place.connect()).collect();
    for _ in 0..20 {
        let _ = slow.write_all(b" ");
        assert_eq!(place.get("/api/runs").0, 200);
    }
    // All of them are disconnected: no client occupies a connection longer than allowed.
    let mut answer = String::new();
    half.read_to_string(&mut answer).unwrap();
    assert_eq!(crate::site::status(&answer), 408, "{answer}");
    let end = std::iter::once(slow).chain(silent);
    for mut client in end {
        let mut rest = Vec::new();
        // Closed or reset. The connection must not stay open until the test's time limit.
        if let Err(error) = client.read_to_end(&mut rest) {
            assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "still open");
        }
    }
}

#[test]
fn a_page_that_never_reads_and_one_that_dies_leave_the_run_and_the_others_alone() {
    let place = Place::new();
    assert_eq!(place.post("/api/run", &place.order(&place.target())).0, 202);
    let head =
        format!("GET /{}/api/events HTTP/1.1\r\nHost: {}\r\n\r\n", place.token, place.host());
    let deaf: Vec<_> = (0..20)
        .map(|_| {
            let mut stream = place.connect();
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    // These clients start to read, and disconnect halfway.
    for _ in 0..10 {
        let mut stream = place.connect();
        stream.write_all(head.as_bytes()).unwrap();
        stream.read_exact(&mut [0; 200]).unwrap();
        stream.shutdown(std::net::Shutdown::Both).unwrap();
    }
    // After several megabytes, a client that reads gets the newest event.
    let text = place.events_until("\"n\":300}", None);
    assert!(text.contains("\"event\":\"started\""));
    assert_eq!(place.get("/api/runs").0, 200);
    drop(deaf);
    std::fs::write(place.dir.path().join("end"), "").unwrap();
    let told = place.wait_for("told", "finished");
    assert_eq!(told.trim(), "finished", "the run was never kept waiting nor cut off");
    place.events_until("\"event\":\"ended\"", None);
}
