-- Format 1. Never edited: a later format is another file. SCHEMA.md explains it.

CREATE TABLE sessions (
  num INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  object TEXT NOT NULL,
  object_cursor INTEGER NOT NULL DEFAULT 0,
  cursor INTEGER NOT NULL DEFAULT 0,
  generation INTEGER NOT NULL DEFAULT 0,
  mode TEXT NOT NULL,
  live INTEGER NOT NULL DEFAULT 0,
  ended INTEGER NOT NULL DEFAULT 0,
  waiting INTEGER NOT NULL DEFAULT 0,
  cut INTEGER NOT NULL DEFAULT 0,
  rows INTEGER NOT NULL DEFAULT 0,
  parent TEXT,
  origin TEXT UNIQUE,
  complete INTEGER NOT NULL DEFAULT 0,
  created_ms INTEGER NOT NULL,
  changed_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_changed ON sessions (changed_ms DESC, num DESC);
CREATE INDEX sessions_live ON sessions (changed_ms DESC, num DESC) WHERE live = 1;
CREATE INDEX sessions_cut ON sessions (changed_ms DESC, num DESC) WHERE cut = 1;
CREATE INDEX sessions_parent ON sessions (parent, changed_ms DESC, num DESC) WHERE parent IS NOT NULL;

CREATE TABLE providers (
  agent TEXT NOT NULL,
  provider TEXT NOT NULL,
  session INTEGER NOT NULL,
  PRIMARY KEY (agent, provider)
) STRICT, WITHOUT ROWID;
CREATE INDEX providers_session ON providers (session);

CREATE TABLE generations (
  session INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  tape INTEGER NOT NULL,
  mode TEXT NOT NULL,
  pid INTEGER NOT NULL,
  host TEXT NOT NULL,
  started TEXT NOT NULL,
  lock TEXT NOT NULL,
  state TEXT NOT NULL,
  PRIMARY KEY (session, generation)
) STRICT, WITHOUT ROWID;
CREATE INDEX generations_tape ON generations (tape);

-- rid = session << 40 | seq
CREATE TABLE rows (
  rid INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  cursor INTEGER NOT NULL,
  key TEXT NOT NULL,
  kind TEXT NOT NULL,
  open INTEGER NOT NULL,
  waiting INTEGER NOT NULL,
  said INTEGER,
  body TEXT NOT NULL,
  taken TEXT
) STRICT;
CREATE UNIQUE INDEX rows_cursor ON rows (session, cursor);
CREATE INDEX rows_key ON rows (session, key);
CREATE INDEX rows_open ON rows (session) WHERE open = 1;
CREATE INDEX rows_waiting ON rows (session) WHERE waiting = 1;

-- aid = session << 40 | cursor
CREATE TABLE appends (
  aid INTEGER PRIMARY KEY,
  rid INTEGER NOT NULL,
  member INTEGER NOT NULL,
  start INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  frame INTEGER NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE INDEX appends_row ON appends (rid);

CREATE TABLE blobs (
  hash TEXT PRIMARY KEY,
  size INTEGER NOT NULL,
  packed INTEGER NOT NULL,
  data BLOB NOT NULL
) STRICT;
CREATE TABLE blob_uses (
  rid INTEGER NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (rid, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_uses_hash ON blob_uses (hash);

CREATE TABLE tapes (
  num INTEGER PRIMARY KEY,
  connection TEXT NOT NULL UNIQUE
) STRICT;
-- tid = tape << 40 | number of the first input
CREATE TABLE tape_blocks (
  tid INTEGER PRIMARY KEY,
  last INTEGER NOT NULL,
  before BLOB NOT NULL,
  hash BLOB NOT NULL,
  size INTEGER NOT NULL,
  data BLOB NOT NULL
) STRICT;
CREATE TABLE tape_open (
  tid INTEGER PRIMARY KEY,
  last INTEGER NOT NULL,
  hash BLOB NOT NULL,
  data BLOB NOT NULL
) STRICT;

CREATE TABLE intents (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL,
  kind TEXT NOT NULL,
  payload TEXT NOT NULL,
  by TEXT NOT NULL,
  posted_ms INTEGER NOT NULL,
  state TEXT NOT NULL,
  generation INTEGER,
  outcome TEXT
) STRICT;
CREATE INDEX intents_session ON intents (session, id);
CREATE INDEX intents_open ON intents (id) WHERE state = 'open';

CREATE VIRTUAL TABLE search USING fts5(
  kind, said,
  content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
