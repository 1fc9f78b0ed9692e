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
    let started = Instant::now();
    let total = host
        .link
        .connect_timeout
        .map_or(TOTAL_LIMIT, |limit| limit.max(TOTAL_LIMIT));
    let deadline = started + total;
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
        host_name: host.host_name.clone(),
        port: host.port,
        seconds: started.elapsed().as_secs(),
        attempts: failures.join("; "),
    })
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
) -> Result<(TcpStream, SocketAddr), Vec<String>> {
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
                    failures.push(format!("{address}: {error}"));
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
                failures.push("no answer in time".to_owned());
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
    fn families_take_turns() {
        let read = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        let mixed = alternate(read(&["[::1]:1", "[::2]:1", "[::2]:1", "1.1.1.1:1"]));
        assert_eq!(mixed, read(&["[::1]:1", "1.1.1.1:1", "[::2]:1"]));
        assert!(alternate(Vec::new()).is_empty());
    }
}
