//! The options under `providerOptions.google`, as the SDK's schema reads them.

use crate::providers::shape::{Shape, may, need};

const THRESHOLD: Shape = Shape::Word(&[
    "HARM_BLOCK_THRESHOLD_UNSPECIFIED",
    "BLOCK_LOW_AND_ABOVE",
    "BLOCK_MEDIUM_AND_ABOVE",
    "BLOCK_ONLY_HIGH",
    "BLOCK_NONE",
    "OFF",
]);

/// The options of a call.
pub(super) const CALL: Shape = Shape::Fields(&[
    may(
        "responseModalities",
        Shape::List(&Shape::Word(&["TEXT", "IMAGE", "AUDIO"])),
    ),
    may("thinkingConfig", THINKING),
    may("cachedContent", Shape::Text),
    may("structuredOutputs", Shape::Bool),
    may("safetySettings", Shape::List(&SAFETY)),
    may("threshold", THRESHOLD),
    may("audioTimestamp", Shape::Bool),
    may("labels", Shape::Map(&Shape::Text)),
    may(
        "mediaResolution",
        Shape::Word(&[
            "MEDIA_RESOLUTION_UNSPECIFIED",
            "MEDIA_RESOLUTION_LOW",
            "MEDIA_RESOLUTION_MEDIUM",
            "MEDIA_RESOLUTION_HIGH",
        ]),
    ),
    may("imageConfig", IMAGE),
    may("retrievalConfig", RETRIEVAL),
    may("streamFunctionCallArguments", Shape::Bool),
    may("serviceTier", Shape::Word(&["standard", "flex", "priority"])),
    may("continuationToken", Shape::Text),
    may(
        "sharedRequestType",
        Shape::Word(&["priority", "flex", "standard"]),
    ),
    may("requestType", Shape::Word(&["shared"])),
]);

const THINKING: Shape = Shape::Fields(&[
    may("thinkingBudget", Shape::Number),
    may("includeThoughts", Shape::Bool),
    may(
        "thinkingLevel",
        Shape::Word(&["minimal", "low", "medium", "high", "xhigh"]),
    ),
]);

const SAFETY: Shape = Shape::Fields(&[
    need(
        "category",
        Shape::Word(&[
            "HARM_CATEGORY_UNSPECIFIED",
            "HARM_CATEGORY_HATE_SPEECH",
            "HARM_CATEGORY_DANGEROUS_CONTENT",
            "HARM_CATEGORY_HARASSMENT",
            "HARM_CATEGORY_SEXUALLY_EXPLICIT",
            "HARM_CATEGORY_CIVIC_INTEGRITY",
        ]),
    ),
    need("threshold", THRESHOLD),
]);

const IMAGE: Shape = Shape::Fields(&[
    may(
        "aspectRatio",
        Shape::Word(&[
            "1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9", "1:8", "8:1", "1:4",
            "4:1",
        ]),
    ),
    may("imageSize", Shape::Word(&["1K", "2K", "4K", "512"])),
    may(
        "personGeneration",
        Shape::Word(&[
            "PERSON_GENERATION_UNSPECIFIED",
            "ALLOW_ALL",
            "ALLOW_ADULT",
            "ALLOW_NONE",
        ]),
    ),
    may(
        "prominentPeople",
        Shape::Word(&[
            "PROMINENT_PEOPLE_UNSPECIFIED",
            "ALLOW_PROMINENT_PEOPLE",
            "BLOCK_PROMINENT_PEOPLE",
        ]),
    ),
    may(
        "imageOutputOptions",
        Shape::Fields(&[
            may("mimeType", Shape::Word(&["image/jpeg", "image/png"])),
            may("compressionQuality", Shape::Number),
        ]),
    ),
]);

const RETRIEVAL: Shape = Shape::Fields(&[may(
    "latLng",
    Shape::Fields(&[need("latitude", Shape::Number), need("longitude", Shape::Number)]),
)]);
