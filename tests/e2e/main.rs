//! Tests of the built program: real processes, sockets and terminals, one file a subject.

#[cfg(test)]
mod counts;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod export;
#[cfg(test)]
mod export_fixtures;
#[cfg(test)]
mod export_output;
#[cfg(test)]
mod fault_proxy;
#[cfg(test)]
mod host_keys;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod logins;
#[cfg(test)]
mod open;
#[cfg(test)]
mod peers;
#[cfg(test)]
mod prompts;
#[cfg(test)]
mod prune;
#[cfg(test)]
mod remote;
#[cfg(test)]
mod remote_again;
#[cfg(test)]
mod remote_cli;
#[cfg(test)]
mod remote_faults;
#[cfg(test)]
mod shim;
#[cfg(test)]
mod sshd;
#[cfg(test)]
mod support;
#[cfg(test)]
mod survive;
#[cfg(test)]
mod usage;
#[cfg(test)]
mod watch;
