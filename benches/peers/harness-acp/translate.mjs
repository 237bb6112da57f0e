// Runs the ACP translator of @ai-sdk/harness-acp over the frames of a recording: `node translate.mjs FILE [ROUNDS]`.
//
// The package's own build hides its translator inside a bundle that starts a bridge process, so its TypeScript source is
// taken, with the types stripped; nothing of it is changed. What is timed is what a client must do with each frame:
// JSON.parse of the line and the translation of what it holds; what the translator emits is counted, not stored.
// Lines are decoded before, one by one, which is the form that V8 reads fastest.
// Prints a line for each round: the name, a tab, frames a second.

import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';

const name = 'harness-acp, JSON.parse + translate';
const source = new URL('node_modules/@ai-sdk/harness-acp/src/v1/bridge/stream-translator.ts', import.meta.url);
const script = stripTypeScriptTypes(readFileSync(source, 'utf8'));
const { createACPStreamTranslator } = await import(`data:text/javascript,${encodeURIComponent(script)}`);

const [file, rounds = '15'] = process.argv.slice(2);
if (file === undefined) {
  console.error('usage: node translate.mjs FILE [ROUNDS]');
  process.exit(2);
}

const recorded = readFileSync(file, 'utf8').split('\n').filter(line => line !== '').map(line => JSON.parse(line));
const frames = recorded.filter(entry => entry.msg !== undefined)
  .map(entry => Buffer.from(JSON.stringify(entry.msg)).toString());

function run() {
  let emitted = 0;
  const begin = () => createACPStreamTranslator({ emit: () => { emitted += 1; } });
  let translator = begin();
  for (const line of frames) {
    const frame = JSON.parse(line);
    if (frame.method === 'session/update') {
      // As the package's own bridge calls it: the raw update is handed on apart.
      translator.update({ update: frame.params.update, rawUpdate: frame.params.update, preserveRaw: false });
    } else if (typeof frame.result?.stopReason === 'string') {
      translator.finish(frame.result);
      translator = begin();
    }
  }
  return emitted;
}

// The first rounds are compiled while they run: they do not count.
for (let warm = 0; warm < 5; warm += 1) run();
for (let round = 0; round < Number(rounds); round += 1) {
  const start = process.hrtime.bigint();
  const emitted = run();
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  if (emitted === 0) throw new Error('the translator emitted nothing');
  console.log(`${name}\t${Math.round(frames.length / seconds)}`);
}
