-- Format 2. Never edited: a later format is another file. SCHEMA.md explains it.
-- A commit of streamed text writes as few pages as it can: appended text has no index of its own, and the open end of a
-- tape is packed.

DROP INDEX appends_row;
ALTER TABLE rows ADD COLUMN grows INTEGER NOT NULL DEFAULT 0;
UPDATE rows SET grows = 1 WHERE rid IN (SELECT rid FROM appends);

-- Size of the data before it was packed; 0: it stands plain.
ALTER TABLE tape_open ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
