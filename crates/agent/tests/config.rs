//! The configuration: layers, where values come from, faults, the example.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tapline_agent::config::{
    Color, Config, Flag, Fold, KEYS, Layers, Policy, example, limits, write_example,
};
use tapline_agent::origin::{Origin, Problem};

fn layers(folder: &Path, text: &str) -> Layers {
    let file = folder.join("config.toml");
    std::fs::write(&file, text).expect("is written");
    Layers {
        file: Some(file),
        ..Layers::default()
    }
}

fn with_file<R>(text: &str, then: impl FnOnce(Layers) -> R) -> R {
    let folder = tempfile::tempdir().expect("a folder");
    then(layers(folder.path(), text))
}

/// What is wrong with a file, without the folder of the test.
fn faults(text: &str) -> Vec<String> {
    with_file(text, |layers| match Config::load(&layers) {
        Ok(_) => Vec::new(),
        Err(error) => error
            .to_string()
            .lines()
            .map(|line| line[line.find("config.toml").unwrap_or(0)..].to_owned())
            .collect(),
    })
}

fn flag(key: &str, value: &str) -> Flag {
    Flag {
        key: key.to_owned(),
        flag: format!("--{key}"),
        value: value.to_owned(),
    }
}

fn line(origin: &Origin) -> usize {
    match origin {
        Origin::File { line, path } => {
            assert!(path.ends_with("config.toml"));
            *line
        }
        other => panic!("{other:?} is no line"),
    }
}

#[test]
fn without_any_layer_the_defaults_hold() {
    let config = Config::load(&Layers::default()).unwrap();
    assert_eq!(
        (config.policy.value, &config.policy.origin),
        (Policy::Ask, &Origin::Default)
    );
    assert_eq!(
        (config.fold.value, config.color.value),
        (Fold::Usual, Color::Auto)
    );
    assert_eq!(config.stop.value, Duration::from_secs(4));
    assert!(config.file().is_none());
    assert_eq!((config.agent.value, config.catalogue_agents.value), (None, None));
}

#[test]
fn a_value_of_the_file_knows_its_line() {
    let text = "policy = \"deny\"\nagent = \"grok\"\n\n[limits]\nstop_seconds = 2.5\nload_seconds = 1_000\n\n[chat]\nfold = \"full\"\n";
    with_file(text, |layers| {
        let config = Config::load(&layers).unwrap();
        assert_eq!(
            (config.policy.value, line(&config.policy.origin)),
            (Policy::Deny, 1)
        );
        assert_eq!(
            (config.agent.value.as_deref(), line(&config.agent.origin)),
            (Some("grok"), 2)
        );
        assert_eq!(
            (config.stop.value, line(&config.stop.origin)),
            (Duration::from_millis(2500), 5)
        );
        assert_eq!(config.load.value, Duration::from_secs(1000));
        assert_eq!((config.fold.value, line(&config.fold.origin)), (Fold::Full, 9));
        assert_eq!(config.start.origin, Origin::Default);
        assert_eq!(config.file(), layers.file.as_deref());
    });
}

#[test]
fn a_flag_beats_a_variable_a_variable_beats_the_file() {
    with_file(
        "policy = \"deny\"\ncolor = \"never\"\nagent = \"codex\"\n",
        |mut layers| {
            let mut set = |name: &str, value: &str| layers.variables.insert(name.to_owned(), value.into());
            set("TAPLINE_POLICY", "allow-reads");
            set("TAPLINE_COLOR", "always");
            set("TAPLINE_AGENT", "");
            layers.flags = vec![flag("policy", "ask"), flag("policy", "allow-all")];
            let config = Config::load(&layers).unwrap();
            assert_eq!(config.policy.value, Policy::AllowAll);
            assert_eq!(config.policy.origin, Origin::Flag("--policy".to_owned()));
            assert_eq!(config.color.value, Color::Always);
            assert_eq!(config.color.origin, Origin::Variable("TAPLINE_COLOR".to_owned()));
            assert_eq!(
                config.agent.value.as_deref(),
                Some("codex"),
                "an empty variable says nothing"
            );
        },
    );
}

#[test]
fn every_fault_is_told_with_its_line_its_key_and_what_is_nearest() {
    assert_eq!(
        faults(
            "polcy = \"ask\"\npolicy = \"aks\"\nload_seconds = 3\nlimits.stop_seconds = \"4\"\nlimits.start_seconds = 0\n\
             agent = 7\ncolor = true\nchat = 1\n[catalog]\nregistry = \"x\"\n[limits.stop]\nseconds = 1\n[zebra]\nx = 1\n"
        ),
        [
            "config.toml:1: `polcy` is not known; did you mean `policy`?",
            "config.toml:2: `policy` must be one of `ask`, `allow-reads`, `allow-all`, `deny`, but is `aks`; did you mean `ask`?",
            "config.toml:3: `load_seconds` is not known; did you mean `limits.load_seconds`?",
            "config.toml:4: `limits.stop_seconds` must be a number of seconds from 0.1 to 86400, but is a string: `4`",
            "config.toml:5: `limits.start_seconds` must be a number of seconds from 0.1 to 86400, but is `0`",
            "config.toml:6: `agent` must be a string that is not empty, but is `7`",
            "config.toml:7: `color` must be one of `auto`, `always`, `never`, but is true or false",
            "config.toml:8: `chat` must be a table, but is a number",
            "config.toml:9: `catalog` is not known; did you mean `catalogue`?",
            "config.toml:11: `limits.stop` is not known; did you mean `limits.stop_seconds`?",
            "config.toml:13: `zebra` is not known; remove it",
        ]
    );
    assert_eq!(
        faults("permissions = 3\n"),
        ["config.toml:1: `permissions` must be a table, but is a number"]
    );
    let no_toml = faults("policy = \n");
    assert!(
        no_toml[0].starts_with("config.toml:1: this is no TOML"),
        "{no_toml:?}"
    );
}

#[test]
fn a_fault_below_is_told_also_where_a_higher_layer_speaks() {
    with_file("policy = \"x\"\n", |mut layers| {
        layers.variables.insert("TAPLINE_POLICY".to_owned(), "y".into());
        layers.flags = vec![flag("policy", "deny"), flag("polizy", "deny")];
        let error = Config::load(&layers).unwrap_err();
        let places: Vec<String> = error
            .problems()
            .iter()
            .map(|problem| match problem {
                Problem::WrongValue { at, .. } | Problem::UnknownKey { at, .. } => at.to_string(),
                other => panic!("{other}"),
            })
            .collect();
        assert!(places[0].ends_with("config.toml:1"));
        assert_eq!(places[1..], ["variable TAPLINE_POLICY", "flag --polizy"]);
    });
}

#[test]
fn paths_start_from_the_file_that_says_them() {
    with_file(
        "[catalogue]\nregistry = \"r.json\"\nagents = \"~/mine.toml\"\n",
        |mut layers| {
            let folder = layers.file.clone().unwrap().parent().unwrap().to_owned();
            layers.variables.insert("HOME".to_owned(), "/home/me".into());
            let config = Config::load(&layers).unwrap();
            assert_eq!(config.catalogue_registry.value, Some(folder.join("r.json")));
            assert_eq!(
                config.catalogue_agents.value,
                Some(PathBuf::from("/home/me/mine.toml"))
            );
            let sources = config.sources();
            assert!(sources.user_must_exist && sources.registry.is_some());

            layers.flags = vec![flag("catalogue.registry", "here.json")];
            let config = Config::load(&layers).unwrap();
            assert_eq!(config.catalogue_registry.value, Some(PathBuf::from("here.json")));
        },
    );
    with_file("", |layers| {
        let config = Config::load(&layers).unwrap();
        let beside = layers.file.unwrap().with_file_name("agents.toml");
        assert_eq!(config.catalogue_agents.value, Some(beside));
        assert!(!config.sources().user_must_exist, "nobody named it");
    });
}

#[test]
fn a_file_that_somebody_named_must_be_there() {
    let mut layers = Layers {
        file: Some(PathBuf::from("/nowhere/config.toml")),
        ..Layers::default()
    };
    assert_eq!(Config::load(&layers).unwrap().file(), None);
    layers.file_must_exist = true;
    let error = Config::load(&layers).unwrap_err();
    assert!(
        matches!(error.problems(), [Problem::Unreadable { .. }]),
        "{error}"
    );
}

#[test]
fn bounded_a_file_over_its_limit_is_not_read_and_a_long_value_is_not_repeated_whole() {
    let longest = "#".repeat(limits::FILE);
    assert!(faults(&longest).is_empty());
    assert_eq!(faults(&(longest + "#")).len(), 1);
    let fault = faults(&format!("policy = \"{}\"", "x".repeat(5000)));
    assert!(fault[0].len() < 250 && fault[0].contains('…'), "{fault:?}");
}

#[test]
fn times_are_taken_up_to_their_limits() {
    let (least, most) = (limits::LEAST_TIME.as_secs_f64(), limits::MOST_TIME.as_secs());
    let set = |value: &str| faults(&format!("limits.load_seconds = {value}\n")).len();
    assert_eq!(set(&least.to_string()), 0);
    assert_eq!(set(&most.to_string()), 0);
    for wrong in [
        &(least / 2.0).to_string(),
        &(most + 1).to_string(),
        "-1",
        "nan",
        "inf",
        "0xff",
        "[1]",
    ] {
        assert_eq!(set(wrong), 1, "{wrong}");
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    rules: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    kind: String,
}

#[test]
fn permissions_are_read_by_whoever_knows_them_with_their_lines() {
    with_file(
        "policy = \"ask\"\n[[permissions.rules]]\nkind = \"edit\"\n",
        |layers| {
            let config = Config::load(&layers).unwrap();
            let (rules, origin) = config.permissions::<Rules>().unwrap().unwrap();
            assert_eq!((rules.rules[0].kind.as_str(), line(&origin)), ("edit", 2));
            let (table, _) = config.permissions::<toml::Table>().unwrap().unwrap();
            assert_eq!(table["rules"].as_array().unwrap().len(), 1);
        },
    );
    with_file(
        "\n\n[[permissions.rules]]\nkind = \"edit\"\nkin = 1\n",
        |layers| {
            let error = Config::load(&layers)
                .unwrap()
                .permissions::<Rules>()
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("config.toml:5: ") && error.contains("`kin`"),
                "{error}"
            );
        },
    );
    let none = Config::load(&Layers::default()).unwrap();
    assert!(none.permissions::<Rules>().unwrap().is_none());
}

#[test]
fn what_is_shown_is_every_key_in_order() {
    let shown = Config::load(&Layers::default()).unwrap().shown();
    let names: Vec<&str> = shown.iter().map(|s| s.key.name).collect();
    assert_eq!(names, KEYS.map(|key| key.name));
    assert_eq!(shown[0].value, "ask");
    assert_eq!(shown[8].value, 4);
}

#[test]
fn the_example_sets_nothing_and_what_it_offers_can_be_set() {
    assert_eq!(faults(&example()), Vec::<String>::new());
    with_file(&example(), |layers| {
        let config = Config::load(&layers).unwrap();
        assert!(config.shown().iter().all(|s| s.origin == Origin::Default));
        assert!(config.permissions::<toml::Table>().unwrap().is_none());
    });
    let uncommented: String = example()
        .lines()
        .map(|line| {
            line.strip_prefix('#')
                .filter(|l| !l.starts_with(' '))
                .unwrap_or(line)
        })
        .map(|line| format!("{line}\n"))
        .collect();
    with_file(&uncommented, |layers| {
        let config = Config::load(&layers).unwrap();
        let by_default = Config::load(&Layers::default()).unwrap().shown();
        for (set, default) in config.shown().iter().zip(by_default) {
            line(&set.origin);
            assert!(
                default.value.is_null() || set.value == default.value,
                "{}",
                set.key.name
            );
        }
        assert!(config.permissions::<toml::Table>().unwrap().is_some());
    });
}

#[test]
fn the_example_is_written_for_its_owner_alone_and_never_over_something() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/config.toml");
    write_example(&path).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), example());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |p: &Path| std::fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }
    std::fs::write(&path, "policy = \"deny\"").unwrap();
    let error = write_example(&path).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "policy = \"deny\"");
}
