-- Format 3. Never edited: a later format is another file. SCHEMA.md explains it.
-- Streamed text and its inputs wait in a file beside this one, the tail of their tape, until the next commit that settles something
-- takes them in.

-- How often the tape's tail was taken in. A tail of an earlier epoch stands in this file already.
ALTER TABLE tapes ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
