//! Publishing in a world made of names and sockets, in which others act before any step.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use super::*;

const ME: u32 = 1000;

/// Who listens behind a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listener {
    Nobody,
    /// The listener of a viewer, by its number.
    Viewer(u32),
    /// A hub of this machine that says nothing to subscribers.
    SilentHub,
    /// A hub that answers subscribers.
    Hub,
    /// The sshd of a viewer that lost its network.
    DeadViewer,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    kind: Kind,
    uid: u32,
    mode: u32,
    modified: i64,
    listener: Listener,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "independent properties of a world"
)]
#[derive(Debug, Default)]
struct Files {
    names: BTreeMap<String, usize>,
    nodes: Vec<Node>,
    owner: Option<Vec<u8>>,
    clock: i64,
    has_links: bool,
    permitted: bool,
    refuses_listening: bool,
    other_world: bool,
    mask: u32,
}

impl Files {
    fn make(&mut self, name: &str, kind: Kind, uid: u32, listener: Listener) {
        self.clock += 1;
        self.nodes.push(Node {
            kind,
            uid,
            mode: 0o600 | self.mask,
            modified: self.clock,
            listener,
        });
        self.names.insert(name.to_owned(), self.nodes.len() - 1);
    }

    fn node(&self, name: &str) -> Option<&Node> {
        self.names.get(name).map(|index| &self.nodes[*index])
    }

    fn listener(&self, name: &str) -> Option<Listener> {
        self.node(name).map(|node| node.listener)
    }

    fn silence(&mut self, listener: Listener) {
        for node in &mut self.nodes {
            if node.listener == listener {
                node.listener = Listener::Nobody;
            }
        }
    }

    /// What a hub does when it starts: a living socket is left alone, a stale one is removed.
    fn start_hub(&mut self, kind: Listener) {
        match self.listener(SOCKET) {
            Some(Listener::Nobody) => {
                self.names.remove(SOCKET);
                self.make(SOCKET, Kind::Socket, ME, kind);
            }
            Some(_) => {}
            None => self.make(SOCKET, Kind::Socket, ME, kind),
        }
    }
}

type World = Arc<Mutex<Files>>;
type Act = Box<dyn Fn(&World) + Send + Sync>;

/// One viewer's view of the world. `act` happens before step `at`; step `refused` is refused; from
/// step `dies` on nothing works.
struct Seen {
    world: World,
    viewer: u32,
    mark: String,
    /// How patiently sockets were asked.
    asked: Mutex<Vec<Patience>>,
    steps: Mutex<usize>,
    at: usize,
    act: Act,
    refused: usize,
    dies: usize,
    keeps_others_out: bool,
}

impl Seen {
    fn plain(world: &World, viewer: u32) -> Self {
        Self {
            world: Arc::clone(world),
            viewer,
            mark: viewer.to_string(),
            asked: Mutex::default(),
            steps: Mutex::new(0),
            at: usize::MAX,
            act: Box::new(|_| {}),
            refused: usize::MAX,
            dies: usize::MAX,
            keeps_others_out: true,
        }
    }

    fn step(&self) -> Result<std::sync::MutexGuard<'_, Files>, SftpError> {
        let step = {
            let mut steps = self.steps.lock().unwrap();
            *steps += 1;
            *steps - 1
        };
        if step >= self.dies {
            self.world
                .lock()
                .unwrap()
                .silence(Listener::Viewer(self.viewer));
            return Err(SftpError::Ended);
        }
        if step == self.refused {
            return Err(SftpError::Denied);
        }
        if step == self.at {
            (self.act)(&self.world);
        }
        Ok(self.world.lock().unwrap())
    }
}

impl Place for Seen {
    async fn listen(&self, name: &str) -> Result<bool, SftpError> {
        let mut files = self.step()?;
        if files.refuses_listening {
            return Ok(false);
        }
        files.make(name, Kind::Socket, ME, Listener::Viewer(self.viewer));
        Ok(true)
    }

    async fn cancel(&self, _name: &str) {
        if let Ok(mut files) = self.step() {
            files.silence(Listener::Viewer(self.viewer));
        }
    }

    async fn look(&self, name: &str) -> Result<Option<Attributes>, SftpError> {
        let files = self.step()?;
        if files.other_world && name.starts_with(".h") {
            return Ok(None);
        }
        Ok(files.node(name).map(|node| Attributes {
            kind: node.kind,
            mode: node.mode,
            uid: Some(node.uid),
            size: 0,
            modified: node.modified,
        }))
    }

    async fn link(&self, from: &str, to: &str) -> Result<(), SftpError> {
        let mut files = self.step()?;
        if !files.has_links {
            return Err(SftpError::Unsupported);
        }
        if files.names.contains_key(to) {
            return Err(SftpError::Refused("Failure".to_owned()));
        }
        let index = *files.names.get(from).ok_or(SftpError::NotFound)?;
        files.names.insert(to.to_owned(), index);
        Ok(())
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), SftpError> {
        let mut files = self.step()?;
        if files.names.contains_key(to) {
            return Err(SftpError::Refused("Failure".to_owned()));
        }
        let index = files.names.remove(from).ok_or(SftpError::NotFound)?;
        files.names.insert(to.to_owned(), index);
        Ok(())
    }

    async fn remove(&self, name: &str) -> Result<(), SftpError> {
        let mut files = self.step()?;
        if name == OWNER {
            files.owner = None;
            return Ok(());
        }
        files
            .names
            .remove(name)
            .map(drop)
            .ok_or(SftpError::NotFound)
    }

    async fn contact(&self, name: &str, patience: Patience) -> Result<Contact, SftpError> {
        let files = self.step()?;
        self.asked.lock().unwrap().push(patience);
        if !files.permitted {
            return Ok(Contact::Refused);
        }
        Ok(match files.listener(name) {
            None | Some(Listener::Nobody) => Contact::Refused,
            Some(Listener::Viewer(viewer)) if viewer == self.viewer => Contact::Ours,
            Some(Listener::Viewer(_)) => Contact::Busy,
            Some(Listener::Hub) => Contact::Hub,
            Some(Listener::SilentHub | Listener::DeadViewer) => Contact::Silent,
        })
    }

    async fn owner(&self) -> Result<Option<Vec<u8>>, SftpError> {
        Ok(self.step()?.owner.clone())
    }

    async fn write_owner(&self, socket_mtime: i64) -> Result<(), SftpError> {
        self.step()?.owner = Some(owner_file(self.mark(), socket_mtime));
        Ok(())
    }

    fn mark(&self) -> &str {
        &self.mark
    }

    fn keeps_others_out(&self) -> bool {
        self.keeps_others_out
    }
}

fn owner_file(mark: &str, socket_mtime: i64) -> Vec<u8> {
    let owner = OwnerFile {
        kind: "remote-viewer".to_owned(),
        nonce: mark.to_owned(),
        socket_mtime,
        since: String::new(),
    };
    serde_json::to_vec(&owner).unwrap()
}

fn world(start: impl FnOnce(&mut Files)) -> World {
    let mut files = Files {
        has_links: true,
        permitted: true,
        clock: 1_000,
        ..Files::default()
    };
    start(&mut files);
    Arc::new(Mutex::new(files))
}

/// Runs what never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("nothing in this world waits"),
    }
}

fn names(world: &World) -> Vec<String> {
    world.lock().unwrap().names.keys().cloned().collect()
}

fn publish_as(world: &World, viewer: u32) -> Result<Published, Refusal> {
    now(publish(&Seen::plain(world, viewer))).unwrap()
}

#[test]
fn what_is_there_decides() {
    type Start = fn(&mut Files);
    let cases: [(&str, Start, Result<(), Refusal>); 11] = [
        ("absent", |_| {}, Ok(())),
        (
            "stale",
            |files| files.make(SOCKET, Kind::Socket, ME, Listener::Nobody),
            Ok(()),
        ),
        (
            "dead viewer",
            |files| {
                files.make(SOCKET, Kind::Socket, ME, Listener::DeadViewer);
                files.owner = Some(owner_file("n", files.clock));
            },
            Ok(()),
        ),
        (
            "silent hub beside a dead viewer's file",
            |files| {
                files.owner = Some(owner_file("n", files.clock));
                files.make(SOCKET, Kind::Socket, ME, Listener::SilentHub);
            },
            Err(Refusal::Owned(Owner::Silent)),
        ),
        (
            "hub",
            |files| files.make(SOCKET, Kind::Socket, ME, Listener::Hub),
            Err(Refusal::Owned(Owner::Hub)),
        ),
        (
            "other viewer",
            |files| files.make(SOCKET, Kind::Socket, ME, Listener::Viewer(9)),
            Err(Refusal::Owned(Owner::RemoteViewer)),
        ),
        (
            "another user's",
            |files| files.make(SOCKET, Kind::Socket, 7, Listener::Nobody),
            Err(Refusal::Occupied),
        ),
        (
            "regular file",
            |files| files.make(SOCKET, Kind::Regular, ME, Listener::Nobody),
            Err(Refusal::Occupied),
        ),
        (
            "symlink",
            |files| files.make(SOCKET, Kind::Symlink, ME, Listener::Nobody),
            Err(Refusal::Occupied),
        ),
        (
            "forwarding refused",
            |files| files.refuses_listening = true,
            Err(Refusal::Forwarding),
        ),
        (
            "another tree",
            |files| files.other_world = true,
            Err(Refusal::OtherWorld),
        ),
    ];
    for (what, start, expected) in cases {
        for has_links in [true, false] {
            let world = world(start);
            world.lock().unwrap().has_links = has_links;
            let before = world.lock().unwrap().node(SOCKET).map(|node| node.modified);
            let outcome = publish_as(&world, 1);
            assert_eq!(
                outcome.as_ref().map(|_| ()).map_err(|refusal| *refusal),
                expected,
                "{what}"
            );
            let files = world.lock().unwrap();
            if outcome.is_ok() {
                assert_eq!(files.listener(SOCKET), Some(Listener::Viewer(1)), "{what}");
                assert!(files.owner.is_some(), "{what}");
                assert_eq!(files.names.len(), 1, "{what}: {:?}", files.names);
            } else {
                assert_eq!(
                    files.node(SOCKET).map(|node| node.modified),
                    before,
                    "{what}"
                );
            }
        }
    }
}

#[test]
fn where_nothing_can_be_tested_a_socket_is_left() {
    let world = world(|files| {
        files.permitted = false;
        files.make(SOCKET, Kind::Socket, ME, Listener::Nobody);
    });
    assert_eq!(publish_as(&world, 1), Err(Refusal::Owned(Owner::Unknown)));
    assert_eq!(names(&world), [SOCKET]);
    world.lock().unwrap().names.clear();
    let published = publish_as(&world, 1).unwrap();
    assert!(!published.permitted);
    now(leave(&Seen::plain(&world, 1), &published)).unwrap();
    assert_eq!(names(&world), [""; 0]);
}

#[test]
fn a_socket_for_everybody_is_not_published() {
    let world = world(|files| files.mask = 0o066);
    let mut seen = Seen::plain(&world, 1);
    seen.keeps_others_out = false;
    assert_eq!(now(publish(&seen)).unwrap(), Err(Refusal::Open));
    assert_eq!(names(&world), [""; 0]);
    seen.keeps_others_out = true;
    assert!(now(publish(&seen)).unwrap().is_ok());
}

/// A hub that starts between any two steps keeps its name, and one of the two is reachable.
#[test]
fn a_hub_may_start_at_any_step() {
    for kind in [Listener::Hub, Listener::SilentHub] {
        for stale in [false, true] {
            for has_links in [true, false] {
                for at in 0..40 {
                    let world = world(|files| {
                        files.has_links = has_links;
                        if stale {
                            files.make(SOCKET, Kind::Socket, ME, Listener::Nobody);
                        }
                    });
                    let mut seen = Seen::plain(&world, 1);
                    seen.at = at;
                    seen.act = Box::new(move |world| world.lock().unwrap().start_hub(kind));
                    let outcome = now(publish(&seen)).unwrap();
                    let files = world.lock().unwrap();
                    let case =
                        format!("{kind:?} stale {stale} links {has_links} at {at}: {outcome:?}");
                    let owner = files.listener(SOCKET);
                    let hub_bound = files.nodes.iter().any(|node| node.listener == kind);
                    if hub_bound {
                        assert_eq!(owner, Some(kind), "{case}");
                        assert!(outcome.is_err(), "{case}");
                    } else {
                        assert_eq!(owner, Some(Listener::Viewer(1)), "{case}");
                        assert!(outcome.is_ok(), "{case}");
                    }
                    assert_eq!(files.names.len(), 1, "{case}: {:?}", files.names);
                }
            }
        }
    }
}

/// A viewer that dies at any step leaves nothing that stops the next one.
#[test]
fn the_next_viewer_clears_up_after_one_that_died() {
    for stale in [false, true] {
        for dies in 0..40 {
            let world = world(|files| {
                if stale {
                    files.make(SOCKET, Kind::Socket, ME, Listener::Nobody);
                }
            });
            let mut seen = Seen::plain(&world, 1);
            seen.dies = dies;
            if now(publish(&seen)).is_ok() {
                // It lived through; now it dies without leaving.
                world.lock().unwrap().silence(Listener::Viewer(1));
            }
            let published = publish_as(&world, 2).unwrap();
            let listed: Vec<_> = names(&world)
                .into_iter()
                .map(|name| {
                    let node = *world.lock().unwrap().node(&name).unwrap();
                    let attributes = Attributes {
                        kind: node.kind,
                        mode: node.mode,
                        uid: Some(node.uid),
                        size: 0,
                        modified: node.modified,
                    };
                    (name, attributes)
                })
                .collect();
            let viewer = Seen::plain(&world, 2);
            now(clear_leftovers(&viewer, &listed, &published, 1_000_000)).unwrap();
            assert_eq!(names(&world), [SOCKET], "dies {dies} stale {stale}");
            now(leave(&viewer, &published)).unwrap();
            assert_eq!(names(&world), [""; 0], "dies {dies} stale {stale}");
            assert_eq!(world.lock().unwrap().owner, None);
        }
    }
}

/// A second viewer that publishes between any two steps of the first: one of them has the name.
#[test]
fn two_viewers_at_once() {
    for stale in [false, true] {
        for at in 0..40 {
            let world = world(|files| {
                if stale {
                    files.make(SOCKET, Kind::Socket, ME, Listener::Nobody);
                }
            });
            let second = Arc::new(Mutex::new(None));
            let mut seen = Seen::plain(&world, 1);
            seen.at = at;
            let outcome_of_second = Arc::clone(&second);
            seen.act = Box::new(move |world| {
                *outcome_of_second.lock().unwrap() = Some(publish_as(world, 2));
            });
            let first = now(publish(&seen)).unwrap();
            let second = second.lock().unwrap().take();
            let case = format!("at {at} stale {stale}: {first:?} {second:?}");
            let owner = world.lock().unwrap().listener(SOCKET);
            match owner {
                Some(Listener::Viewer(1)) => assert!(first.is_ok(), "{case}"),
                Some(Listener::Viewer(2)) => {
                    assert!(second.as_ref().is_some_and(Result::is_ok), "{case}");
                    assert!(first.is_err(), "{case}");
                }
                other => panic!("{case}: {other:?}"),
            }
        }
    }
}

/// A server that refuses any one step breaks nothing off: there is a socket, or a reason and nobody
/// of ours behind the name.
#[test]
fn any_step_may_be_refused() {
    for stale in [false, true] {
        for refused in 0..40 {
            let world = world(|files| {
                if stale {
                    files.make(SOCKET, Kind::Socket, ME, Listener::Nobody);
                }
            });
            let mut seen = Seen::plain(&world, 1);
            seen.refused = refused;
            let outcome = now(publish(&seen)).expect("the session goes on");
            let ours = world.lock().unwrap().listener(SOCKET) == Some(Listener::Viewer(1));
            assert_eq!(ours, outcome.is_ok(), "{refused} {stale}: {outcome:?}");
        }
    }
}

/// After a lost connection our old socket is silent: who knows that it is ours does not wait for it.
#[test]
fn a_socket_of_a_lost_connection_is_known_by_its_mark() {
    for (viewer, patience) in [(1, Patience::Short), (2, Patience::Long)] {
        let world = world(|_| {});
        publish_as(&world, 1).unwrap();
        for node in &mut world.lock().unwrap().nodes {
            node.listener = Listener::DeadViewer;
        }
        let seen = Seen::plain(&world, viewer);
        now(publish(&seen)).unwrap().unwrap();
        let asked = seen.asked.lock().unwrap();
        assert_eq!(
            asked.iter().filter(|it| **it == patience).count(),
            2,
            "{asked:?}"
        );
        let own = Some(Listener::Viewer(viewer));
        assert_eq!(world.lock().unwrap().listener(SOCKET), own);
        assert_eq!(names(&world), [SOCKET]);
    }
}

/// After an attempt that broke off the next one of the same connection finds its own socket.
#[test]
fn our_own_socket_of_an_attempt_that_broke_off_is_replaced() {
    let world = world(|_| {});
    let first = publish_as(&world, 1).unwrap();
    let second = publish_as(&world, 1).unwrap();
    assert_ne!(first.private, second.private);
    assert_eq!(names(&world), [SOCKET]);
    now(leave(&Seen::plain(&world, 1), &second)).unwrap();
    assert_eq!(names(&world), [""; 0]);
}

#[test]
fn leaving_spares_a_socket_that_is_not_ours_any_more() {
    let world = world(|_| {});
    let published = publish_as(&world, 1).unwrap();
    {
        let mut files = world.lock().unwrap();
        files.names.remove(SOCKET);
        files.make(SOCKET, Kind::Socket, ME, Listener::SilentHub);
    }
    now(leave(&Seen::plain(&world, 1), &published)).unwrap();
    assert_eq!(names(&world), [SOCKET]);
    assert!(world.lock().unwrap().owner.is_some(), "in doubt it is left");
}

#[test]
fn leftovers_without_end_are_cleared_a_few_at_a_time() {
    let world = world(|files| {
        for number in 0..100 {
            let (tens, ones) = (b'a' + number / 10, b'a' + number % 10);
            let name = format!(".haaaa{}{}", char::from(tens), char::from(ones));
            files.make(&name, Kind::Socket, ME, Listener::Nobody);
        }
    });
    let published = publish_as(&world, 1).unwrap();
    let attributes = published.attributes;
    let listed: Vec<_> = names(&world)
        .into_iter()
        .map(|name| (name, attributes))
        .collect();
    let viewer = Seen::plain(&world, 1);
    now(clear_leftovers(&viewer, &listed, &published, 1_000_000)).unwrap();
    assert_eq!(names(&world).len(), 1 + 100 - LEFTOVERS);
    assert_eq!(viewer.asked.lock().unwrap().len(), LEFTOVERS);
}

#[test]
fn temporary_names() {
    for (name, expected) in [
        (".habc234", true),
        (".qzzzzzz", true),
        (".habc", false),
        (".h1bcdef", false),
        ("habc234", false),
        (".hABCDEF", false),
        (".habcdefg", false),
    ] {
        assert_eq!(is_temporary(name), expected, "{name}");
    }
}
