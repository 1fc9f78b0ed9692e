//! Opens the TCP connection: all addresses, a quarter of a second apart, alternating families
//! (remote.md 14.10).

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::{
    net::{TcpSocket, TcpStream, lookup_host},
    time::{Instant, sleep, sleep_until, timeout},
};

use super::{
    error::Error,
    resolved::{Family, Resolved},
};

/// Head start of each address before the next one is tried too.
const STAGGER: Duration = Duration::from_millis(250);

/// One address, unless `ConnectTimeout` says otherwise.
const ADDRESS_LIMIT: Duration = Duration::from_secs(10);

/// All addresses together.
const TOTAL_LIMIT: Duration = Duration::from_secs(30);

/// Pause between the rounds of `ConnectionAttempts`, as ssh makes it.
const ROUND_PAUSE: Duration = Duration::from_secs(1);

/// Dials the host.
///
/// # Errors
/// The name has no address, or no address took the connection.
pub(super) async fn dial(host: &Resolved) -> Result<(TcpStream, SocketAddr), Error> {
    let total = host
        .link
        .connect_timeout
        .map_or(TOTAL_LIMIT, |limit| limit.max(TOTAL_LIMIT));
    let deadline = Instant::now() + total;
    let addresses = match timeout(total, look_up(host)).await {
        Ok(addresses) => addresses?,
        Err(_elapsed) => return Err(not_found(host, io::ErrorKind::TimedOut.into())),
    };
    let mut failures = Vec::new();
    for round in 0..host.link.attempts.max(1) {
        if round > 0 {
            sleep(ROUND_PAUSE).await;
        }
        failures = match race(host, &addresses, deadline).await {
            Ok(connected) => return Ok(connected),
            Err(failures) => failures,
        };
        if Instant::now() >= deadline {
            break;
        }
    }
    Err(Error::NoConnection {
        attempts: told(&host.host_name, host.port, &failures),
    })
}

/// An address, if it is about one, and what happened there.
type Attempt = (Option<SocketAddr>, String);

/// Each reason once, and where: `connection refused (web1 port 22 at 10.0.0.1, ::1)`.
fn told(host_name: &str, port: u16, failures: &[Attempt]) -> String {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (address, reason) in failures {
        let address = address.map(|address| address.ip().to_string());
        let place = address.filter(|address| address != host_name);
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, places)) => places.extend(place),
            None => reasons.push((reason, place.into_iter().collect())),
        }
    }
    let tell = |(reason, places): &(&str, Vec<String>)| {
        let at = if places.is_empty() {
            String::new()
        } else {
            format!(" at {}", places.join(", "))
        };
        format!("{reason} ({host_name} port {port}{at})")
    };
    reasons.iter().map(tell).collect::<Vec<_>>().join("; ")
}

/// The system's reason in a few words.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::HostUnreachable => "no route to the host".to_owned(),
        io::ErrorKind::NetworkUnreachable => "no route to the network".to_owned(),
        _ => {
            let text = error.to_string();
            let end = text.find(" (os error ").unwrap_or(text.len());
            text.get(..end).unwrap_or(&text).to_owned()
        }
    }
}

async fn look_up(host: &Resolved) -> Result<Vec<SocketAddr>, Error> {
    let found = lookup_host((host.host_name.as_str(), host.port))
        .await
        .map_err(|source| not_found(host, source))?;
    let wanted = found.filter(|address| match host.link.family {
        Family::Any => true,
        Family::V4 => address.is_ipv4(),
        Family::V6 => address.is_ipv6(),
    });
    let addresses = alternate(wanted.collect());
    if addresses.is_empty() {
        return Err(not_found(host, io::ErrorKind::AddrNotAvailable.into()));
    }
    Ok(addresses)
}

fn not_found(host: &Resolved, source: io::Error) -> Error {
    Error::NameNotFound {
        host_name: host.host_name.clone(),
        source,
    }
}

/// Families by turns, beginning with that of the first address; each address once.
fn alternate(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (mut first, mut second): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| address.is_ipv6() == first_is_v6);
    first.dedup();
    second.dedup();
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut mixed = Vec::new();
    loop {
        let pair = [first.next(), second.next()];
        if pair.iter().all(Option::is_none) {
            return mixed;
        }
        mixed.extend(pair.into_iter().flatten());
    }
}

/// The first address that answers, or what happened to each.
async fn race(
    host: &Resolved,
    addresses: &[SocketAddr],
    deadline: Instant,
) -> Result<(TcpStream, SocketAddr), Vec<Attempt>> {
    let mut waiting = addresses.iter().copied();
    let mut running = FuturesUnordered::new();
    let mut failures = Vec::new();
    let mut next_start = Instant::now();
    loop {
        tokio::select! {
            biased;
            Some((address, outcome)) = running.next() => match outcome {
                Ok(stream) => return Ok((stream, address)),
                Err(error) => {
                    failures.push((Some(address), reason(&error)));
                    // A refusal is final: the next address need not wait for its turn.
                    next_start = Instant::now();
                }
            },
            () = sleep_until(next_start), if waiting.len() > 0 => {
                if let Some(address) = waiting.next() {
                    running.push(attempt(host, address));
                }
                next_start = Instant::now() + STAGGER;
            }
            () = sleep_until(deadline) => {
                failures.push((None, "no answer in time".to_owned()));
                return Err(failures);
            }
            else => return Err(failures),
        }
        if running.is_empty() && waiting.len() == 0 {
            return Err(failures);
        }
    }
}

async fn attempt(host: &Resolved, address: SocketAddr) -> (SocketAddr, io::Result<TcpStream>) {
    let limit = host.link.connect_timeout.unwrap_or(ADDRESS_LIMIT);
    let outcome = match timeout(limit, connect(host, address)).await {
        Ok(outcome) => outcome,
        Err(_elapsed) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no answer within {} s", limit.as_secs()),
        )),
    };
    (address, outcome)
}

async fn connect(host: &Resolved, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_keepalive(host.link.tcp_keepalive)?;
    if let Some(local) = &host.link.bind_address {
        let local: IpAddr = local
            .parse()
            .map_err(|_not_an_address| io::Error::from(io::ErrorKind::InvalidInput))?;
        socket.bind(SocketAddr::new(local, 0))?;
    }
    let stream = socket.connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_come_first_and_once() {
        let at = |ip: &str| Some(SocketAddr::new(ip.parse().unwrap(), 22));
        let refused = reason(&io::Error::from_raw_os_error(
            rustix::io::Errno::CONNREFUSED.raw_os_error(),
        ));
        let silent = "no answer within 10 s".to_owned();
        let cases = [
            (
                "127.0.0.1",
                vec![(at("127.0.0.1"), refused.clone())],
                "connection refused (127.0.0.1 port 22)",
            ),
            (
                "web1",
                vec![
                    (at("10.0.0.1"), refused.clone()),
                    (at("10.0.0.2"), silent.clone()),
                    (at("::1"), refused),
                ],
                "connection refused (web1 port 22 at 10.0.0.1, ::1); \
                 no answer within 10 s (web1 port 22 at 10.0.0.2)",
            ),
            (
                "web1",
                vec![(None, silent)],
                "no answer within 10 s (web1 port 22)",
            ),
        ];
        for (host, failures, expected) in cases {
            assert_eq!(told(host, 22, &failures), expected);
        }
        let other = io::Error::from_raw_os_error(rustix::io::Errno::PROTOTYPE.raw_os_error());
        assert!(!reason(&other).contains("os error"));
    }

    #[test]
    fn families_take_turns() {
        let read = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        let mixed = alternate(read(&["[::1]:1", "[::2]:1", "[::2]:1", "1.1.1.1:1"]));
        assert_eq!(mixed, read(&["[::1]:1", "1.1.1.1:1", "[::2]:1"]));
        assert!(alternate(Vec::new()).is_empty());
    }
}
