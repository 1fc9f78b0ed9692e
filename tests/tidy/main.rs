//! The rules of the tree as tests: who may import whom, how files begin, licences, what no file may name.

#[cfg(test)]
mod files;
#[cfg(test)]
mod imports;
#[cfg(test)]
mod licences;
#[cfg(test)]
mod paths;
#[cfg(test)]
mod rooms;
