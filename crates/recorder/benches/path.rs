//! The path of a frame in memory: what one costs, beside reading it in other ways.
//!
//! `cargo bench -p tapline-recorder`. Each bench names its peer; figures are frames a second.

use divan::Bencher;
use divan::counter::ItemsCount;
use serde::Deserialize;
use serde_json::value::RawValue;
use tapline_recorder::{Direction, Memory, Recorder, SessionRef, Stamp};
use tapline_testkit::generate::{self, Frame};
use tapline_timeline::{Event, SessionId};
use tapline_translate::{Opening, Out, Translator};

const FRAMES: usize = 20_000;

fn main() {
    divan::main();
}

fn lines(frames: impl Iterator<Item = Frame>) -> Vec<(Direction, String)> {
    frames
        .map(|frame| {
            let direction = match frame.direction {
                generate::Direction::FromAgent => Direction::In,
                generate::Direction::FromClient => Direction::Out,
            };
            let text = String::from_utf8(frame.bytes).expect("frames are UTF-8");
            (direction, text.trim_end().to_owned())
        })
        .collect()
}

fn small() -> Vec<(Direction, String)> {
    lines(generate::chunks(FRAMES, 1))
}

fn mixed() -> Vec<(Direction, String)> {
    lines(generate::mixed(FRAMES, 1))
}

#[divan::bench(sample_count = 30)]
fn envelopes_with_serde_json(bencher: Bencher<'_, '_>) {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow, default)]
        method: Option<std::borrow::Cow<'a, str>>,
        #[serde(borrow, default)]
        params: Option<&'a RawValue>,
    }
    let lines = small();
    bencher.counter(ItemsCount::new(lines.len())).bench(|| {
        let mut n = 0;
        for (_, line) in &lines {
            let envelope: Envelope<'_> = serde_json::from_str(line).expect("valid");
            n += usize::from(envelope.method.is_some()) + envelope.params.map_or(0, |p| p.get().len());
        }
        n
    });
}

#[divan::bench(sample_count = 30)]
fn frames_to_rows_small(bencher: Bencher<'_, '_>) {
    rows(bencher, &small());
}

#[divan::bench(sample_count = 30)]
fn frames_to_rows_mixed(bencher: Bencher<'_, '_>) {
    rows(bencher, &mixed());
}

fn rows(bencher: Bencher<'_, '_>, lines: &[(Direction, String)]) {
    bencher.counter(ItemsCount::new(lines.len())).bench(|| {
        let mut recorder = Recorder::new(Memory::new(), None);
        for (direction, line) in lines {
            recorder.line("", *direction, line, None);
        }
        recorder.close();
        recorder.number()
    });
}

#[divan::bench(sample_count = 30)]
fn frames_to_events_small(bencher: Bencher<'_, '_>) {
    let lines = small();
    bencher.counter(ItemsCount::new(lines.len())).bench(|| {
        let mut translator = Translator::new(None);
        let mut count = Count::default();
        for (n, (direction, line)) in lines.iter().enumerate() {
            let frame = tapline_wire::read(line).expect("valid");
            translator.frame(Stamp { number: n as u64, at: None }, *direction, &frame, line, &mut count);
        }
        count.0
    });
}

#[derive(Default)]
struct Count(u64);

impl Out for Count {
    fn open(&mut self, _: Stamp, _: Opening<'_>) -> SessionRef {
        SessionRef(0)
    }
    fn event(&mut self, _: Stamp, _: SessionRef, _: Event<'_>) {
        self.0 += 1;
    }
    fn state(&mut self, _: Stamp, _: &'static str) {}
    fn drop(&mut self, _: Stamp, _: &'static str) {}
    fn blob(&mut self, _: &str, _: &[u8]) {}
    fn is_running(&self, _: SessionRef) -> bool {
        false
    }
    fn session_id(&self, _: SessionRef) -> Option<SessionId> {
        None
    }
}
