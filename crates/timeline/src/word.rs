//! The closed vocabularies of the timeline format: one table each, with the words that stand in the JSON.

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every word, in the order of the table.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The word that stands for it in the JSON.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }

            /// The variant that `word` stands for.
            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word => Some($name::$variant),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// What a row is.
    Kind {
        /// One request and all that the agent does for it, or work that the agent began itself.
        Turn = "turn",
        /// Instructions given to the agent or model.
        System = "system",
        /// What a person (or the agent in their name) asked.
        User = "user",
        /// What the agent said.
        Assistant = "assistant",
        /// What the agent thought.
        Reasoning = "reasoning",
        /// A tool call.
        Tool = "tool",
        /// A to-do list or a plan as text.
        Plan = "plan",
        /// Something the agent asked a person.
        Request = "request",
        /// Work that outlives its tool and turn.
        Task = "task",
        /// An agent that the agent started.
        Helper = "helper",
        /// The agent shortened its own context.
        Compaction = "compaction",
        /// A message between two sessions.
        SessionMessage = "session_message",
        /// A sentence about the session itself.
        Status = "status",
        /// An update of a kind that nothing covers yet.
        Unknown = "unknown",
    }
}

words! {
    /// Who began a turn.
    Origin {
        /// A prompt of the client.
        Prompt = "prompt",
        /// The agent itself.
        Agent = "agent",
    }
}

words! {
    /// How a turn ended.
    End {
        /// The agent says it did what was asked.
        Completed = "completed",
        /// A person's stop or refusal, or the agent's own word.
        Stopped = "stopped",
        /// The agent process went away in the middle.
        Cut = "cut",
        /// An error.
        Failed = "failed",
        /// The agent declined.
        Refused = "refused",
        /// A token or request limit.
        Limit = "limit",
        /// It ended and nobody said how.
        Unknown = "unknown",
    }
}

words! {
    /// How far a prompt got.
    Delivery {
        /// Waits behind another prompt.
        Queued = "queued",
        /// Stands on the wire.
        Sent = "sent",
        /// Its turn opened.
        Accepted = "accepted",
        /// The agent refused it before its turn.
        Rejected = "rejected",
        /// Taken back before its turn.
        Withdrawn = "withdrawn",
        /// The connection ended before anyone knew.
        Unconfirmed = "unconfirmed",
    }
}

words! {
    /// Whether a text still grows.
    TextState {
        /// More may come.
        Open = "open",
        /// It ended.
        Ended = "ended",
        /// The agent process went away while it grew.
        Cut = "cut",
    }
}

words! {
    /// How a tool ran.
    ToolState {
        /// Announced.
        Pending = "pending",
        /// Runs.
        Running = "running",
        /// The agent says it worked.
        Completed = "completed",
        /// The agent says it failed.
        Failed = "failed",
        /// Its permission was refused.
        Rejected = "rejected",
        /// Its turn was stopped or cut before it ended.
        Interrupted = "interrupted",
        /// Its turn ended and nobody said how it did.
        Unknown = "unknown",
    }
}

impl ToolState {
    /// Whether the tool has not ended.
    pub const fn is_open(self) -> bool {
        matches!(self, ToolState::Pending | ToolState::Running)
    }

    /// Whether the agent itself said how it ended; such a state is never left.
    pub const fn is_final(self) -> bool {
        matches!(
            self,
            ToolState::Completed | ToolState::Failed | ToolState::Rejected
        )
    }
}

words! {
    /// Who allowed a tool.
    Authorization {
        /// Nobody was asked.
        NotAsked = "not_asked",
        /// Asked and allowed.
        AskedAllowed = "asked_allowed",
        /// Asked and refused.
        AskedRejected = "asked_rejected",
        /// Asked, and the question was withdrawn.
        AskedCancelled = "asked_cancelled",
    }
}

words! {
    /// What a diff does to its file.
    FileChange {
        /// A new file.
        Add = "add",
        /// The file goes.
        Delete = "delete",
        /// The file changes.
        Modify = "modify",
        /// The file gets another path.
        Move = "move",
    }
}

words! {
    /// Whether a diff took effect.
    Effect {
        /// Shown, not known to be done.
        Proposed = "proposed",
        /// The tool completed.
        Applied = "applied",
        /// The tool failed or was refused.
        Discarded = "discarded",
    }
}

words! {
    /// What the agent asked for.
    Ask {
        /// Leave to do something.
        Permission = "permission",
        /// An answer.
        Question = "question",
        /// Approval of a plan.
        Plan = "plan",
    }
}

words! {
    /// Whether a request still waits.
    RequestState {
        /// Someone must decide.
        Pending = "pending",
        /// It was decided or withdrawn.
        Settled = "settled",
    }
}

words! {
    /// How a request ended.
    Outcome {
        /// Leave was given.
        Allowed = "allowed",
        /// Leave was refused.
        Rejected = "rejected",
        /// The question was answered.
        Answered = "answered",
        /// Nobody decided.
        Cancelled = "cancelled",
    }
}

words! {
    /// What kind of work a task is.
    TaskKind {
        /// A command.
        Command = "command",
        /// Something that watches.
        Monitor = "monitor",
        /// Anything else.
        Other = "other",
    }
}

words! {
    /// How a task or helper stands.
    WorkState {
        /// It runs.
        Running = "running",
        /// It ended well.
        Completed = "completed",
        /// It ended badly.
        Failed = "failed",
        /// Somebody ended it.
        Stopped = "stopped",
        /// Nobody tells any more.
        Unknown = "unknown",
    }
}

words! {
    /// Whether a plan still stands.
    PlanState {
        /// It stands.
        Active = "active",
        /// The agent took it back.
        Removed = "removed",
    }
}

words! {
    /// How a compaction stands.
    CompactionState {
        /// It runs.
        Running = "running",
        /// It is done.
        Completed = "completed",
        /// It failed.
        Failed = "failed",
        /// It was broken off.
        Cancelled = "cancelled",
    }
}

words! {
    /// How loud a status row is.
    Tone {
        /// For the record.
        Info = "info",
        /// Something to look at.
        Warning = "warning",
        /// Something went wrong.
        Error = "error",
    }
}

words! {
    /// Whether a session still runs.
    SessionState {
        /// An agent process holds it.
        Live = "live",
        /// No agent process holds it.
        Ended = "ended",
    }
}
