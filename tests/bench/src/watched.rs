//! One session as a viewer watches it: calls that end in every way there is, over stdio or from several clients over
//! HTTP, with many tools, ids that are used again, tasks, parked and abandoned exchanges.

use std::fmt::{Error as FormatError, Write as _};

use crate::logs;

/// Names of tools over all sessions; a session uses a part of them.
const TOOLS: u64 = 3_000;
const TOOLS_A_SESSION: u64 = 300;
const CLIENTS: u64 = 4;

/// Makes the frames of one session.
pub(crate) struct Watched {
    name: String,
    number: u64,
    http: bool,
    seq: u64,
    micros: u64,
    id: u64,
    exchange: u64,
    random: u64,
    raw: String,
    more: String,
}

impl Watched {
    pub(crate) fn new(number: u64, start: u64) -> Self {
        Self {
            name: format!("watched-{}-{number:012x}", 1_000 + number),
            number,
            http: number % 2 == 1,
            seq: 0,
            micros: start,
            id: 0,
            exchange: 0,
            random: number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            raw: String::new(),
            more: String::new(),
        }
    }

    pub(crate) fn frames(&self) -> u64 {
        self.seq
    }

    /// A number below `limit`, the same ones in every run.
    fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % limit
    }

    /// Writes the lines of one thing that happens.
    pub(crate) fn some(&mut self, out: &mut String) -> Result<(), FormatError> {
        if self.seq == 0 {
            return self.greet(out);
        }
        match self.below(100) {
            0..45 => {
                let id = self.call("", out)?;
                self.answer(
                    id,
                    r#""result":{"content":[{"type":"text","text":"all is well"}]}"#,
                    out,
                )
            }
            45..60 => {
                let id = self.call("", out)?;
                for progress in 0..3 {
                    self.server(&format!(r#""method":"notifications/progress","params":{{"progressToken":{id},"progress":{progress},"total":3}}"#), out)?;
                }
                self.answer(id, r#""result":{"content":[],"isError":true}"#, out)
            }
            60..68 => self.standard_error(out),
            68..74 => self.parked(out),
            74..80 => self.task(out),
            80..84 => self.cancelled(out),
            // Nobody answers.
            84..86 => self.call("", out).map(|_| ()),
            86..90 => self.reused(out),
            90..93 => {
                let id = self.call("", out)?;
                self.answer(
                    id,
                    r#""error":{"code":-32603,"message":"Internal error"}"#,
                    out,
                )
            }
            93..95 => self.listing(out),
            95..97 => {
                self.server(
                    r#""id":"s1","method":"sampling/createMessage","params":{"messages":[]}"#,
                    out,
                )?;
                self.client(r#""id":"s1","result":{"role":"assistant"}"#, out)
            }
            97..98 => self.refused(out),
            98..99 => self.server(r#""id":987654,"result":{}"#, out),
            _ => self.server(
                r#""method":"notifications/resources/updated","params":{"uri":"file:///a"}"#,
                out,
            ),
        }
    }

    /// Writes the record of its end; one session in twenty was killed and has none.
    pub(crate) fn end(&mut self, out: &mut String) -> Result<(), FormatError> {
        if self.number % 20 == 19 {
            return Ok(());
        }
        let record = r#"{"command":["server"],"event":"end","exit_code":0}"#;
        self.line("meta", ("raw", record), 0, out)
    }

    fn greet(&mut self, out: &mut String) -> Result<(), FormatError> {
        for client in 0..if self.http { CLIENTS } else { 1 } {
            self.exchange = client;
            let name = (self.number + client) % 7;
            self.client(&format!(r#""id":{client},"method":"initialize","params":{{"protocolVersion":"2025-11-25","clientInfo":{{"name":"agent{name}","version":"1"}}}}"#), out)?;
            self.answer(client, r#""result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#, out)?;
        }
        self.id = CLIENTS;
        Ok(())
    }

    /// A call with further parameters, each with a comma before it.
    fn call(&mut self, more: &str, out: &mut String) -> Result<u64, FormatError> {
        self.id += 1;
        let id = self.id;
        self.call_as(id, more, out)?;
        Ok(id)
    }

    fn call_as(&mut self, id: u64, more: &str, out: &mut String) -> Result<(), FormatError> {
        let tool = (self.number * 7 + self.below(TOOLS_A_SESSION)) % TOOLS;
        let query = self.below(1 << 20);
        self.exchange += 1;
        self.client(&format!(r#""id":{id},"method":"tools/call","params":{{"_meta":{{"progressToken":{id}}},"name":"tool_{tool}","arguments":{{"q":{query}}}{more}}}"#), out)
    }

    fn answer(&mut self, id: u64, members: &str, out: &mut String) -> Result<(), FormatError> {
        self.server(&format!(r#""id":{id},{members}"#), out)
    }

    fn parked(&mut self, out: &mut String) -> Result<(), FormatError> {
        let id = self.id + 1;
        let tool = id % TOOLS_A_SESSION;
        self.id = id;
        self.exchange += 1;
        let call = |id: u64, more: &str| {
            format!(
                r#""id":{id},"method":"tools/call","params":{{"name":"asks_{tool}","arguments":{{}}{more}}}"#
            )
        };
        self.client(&call(id, ""), out)?;
        self.answer(id, &format!(r#""result":{{"resultType":"input_required","inputRequests":{{"k":{{}}}},"requestState":"state {id}"}}"#), out)?;
        if self.below(10) < 6 {
            self.id += 1;
            let retry = format!(r#","inputResponses":{{"k":{{}}}},"requestState":"state {id}""#);
            self.client(&call(self.id, &retry), out)?;
            self.answer(self.id, r#""result":{"content":[]}"#, out)?;
        }
        Ok(())
    }

    fn task(&mut self, out: &mut String) -> Result<(), FormatError> {
        let id = self.call(r#","task":{"ttl":60000}"#, out)?;
        let name = format!("task {} {id}", self.number);
        if id % 2 == 0 {
            self.answer(
                id,
                &format!(r#""result":{{"task":{{"taskId":"{name}","status":"working"}}}}"#),
                out,
            )?;
            self.id += 1;
            let poll = self.id;
            self.client(
                &format!(r#""id":{poll},"method":"tasks/get","params":{{"taskId":"{name}"}}"#),
                out,
            )?;
            let status = if self.below(10) < 7 {
                "completed"
            } else {
                "working"
            };
            return self.answer(
                poll,
                &format!(r#""result":{{"taskId":"{name}","status":"{status}"}}"#),
                out,
            );
        }
        self.answer(
            id,
            &format!(r#""result":{{"resultType":"task","taskId":"{name}","status":"working"}}"#),
            out,
        )?;
        if self.below(10) < 7 {
            self.server(&format!(r#""method":"notifications/tasks","params":{{"taskId":"{name}","status":"completed","result":{{"content":[]}}}}"#), out)?;
        }
        Ok(())
    }

    fn cancelled(&mut self, out: &mut String) -> Result<(), FormatError> {
        let id = self.call("", out)?;
        self.client(&format!(r#""method":"notifications/cancelled","params":{{"requestId":{id},"reason":"no time"}}"#), out)?;
        if id % 2 == 0 {
            self.answer(id, r#""result":{"content":[]}"#, out)?;
        }
        Ok(())
    }

    /// Ids that were used before, and an answer that comes twice.
    fn reused(&mut self, out: &mut String) -> Result<(), FormatError> {
        let id = self.below(5) + 1;
        self.call_as(id, "", out)?;
        self.answer(id, r#""result":{"content":[]}"#, out)?;
        if id == 1 {
            self.answer(id, r#""result":{"content":[]}"#, out)?;
        }
        Ok(())
    }

    fn listing(&mut self, out: &mut String) -> Result<(), FormatError> {
        for page in 0..3 {
            self.id += 1;
            let id = self.id;
            let cursor = match page {
                0 => String::new(),
                _ => format!(r#""cursor":"page {page} of {}""#, self.seq / 100),
            };
            self.client(
                &format!(r#""id":{id},"method":"tools/list","params":{{{cursor}}}"#),
                out,
            )?;
            let next = match page {
                2 => String::new(),
                _ => format!(r#","nextCursor":"page {} of {}""#, page + 1, self.seq / 100),
            };
            self.answer(id, &format!(r#""result":{{"tools":[{{"name":"tool_{page}","inputSchema":{{"type":"object"}}}}]{next}}}"#), out)?;
        }
        Ok(())
    }

    /// An exchange that the target refused, or noise where there is no HTTP.
    fn refused(&mut self, out: &mut String) -> Result<(), FormatError> {
        self.call("", out)?;
        if self.http {
            return self.line("s2c", ("text", "\"<html>Bad gateway</html>\""), 502, out);
        }
        self.line("s2c", ("text", "\"not a message\""), 0, out)
    }

    fn standard_error(&mut self, out: &mut String) -> Result<(), FormatError> {
        let text = format!("\"2026-06-01 INFO something took {} ms\"", self.seq);
        self.line("stderr", ("text", &text), 0, out)
    }

    fn client(&mut self, members: &str, out: &mut String) -> Result<(), FormatError> {
        self.message("c2s", members, out)
    }

    fn server(&mut self, members: &str, out: &mut String) -> Result<(), FormatError> {
        self.message("s2c", members, out)
    }

    fn message(
        &mut self,
        direction: &str,
        members: &str,
        out: &mut String,
    ) -> Result<(), FormatError> {
        let mut raw = std::mem::take(&mut self.raw);
        raw.clear();
        write!(raw, "{{\"jsonrpc\":\"2.0\",{members}}}")?;
        let status = if direction == "s2c" { 200 } else { 0 };
        let written = self.line(direction, ("raw", &raw), status, out);
        self.raw = raw;
        written
    }

    fn line(
        &mut self,
        direction: &str,
        payload: (&str, &str),
        status: u64,
        out: &mut String,
    ) -> Result<(), FormatError> {
        self.seq += 1;
        self.micros += 700_000;
        self.more.clear();
        if self.http && (direction == "c2s" || direction == "s2c") {
            let (connection, exchange) = (self.exchange % CLIENTS, self.exchange);
            write!(
                self.more,
                ",\"conn_id\":\"c{connection}\",\"exchange\":{exchange}"
            )?;
            if status != 0 {
                write!(self.more, ",\"status\":{status}")?;
            }
        }
        let line = logs::Line {
            session: &self.name,
            label: "watched",
            seq: self.seq,
            micros: self.micros,
            direction,
            transport: if self.http { "http" } else { "stdio" },
            payload,
            more: &self.more,
        };
        line.write(out)
    }
}
