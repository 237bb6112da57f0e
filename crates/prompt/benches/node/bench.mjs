// The way of benches/prompt.rs through the published packages: JSON text, parsed, converted and written as a
// request body. The packages have no validation of a prompt, so this side does less.
//
// usage: node bench.mjs CONVERSATION.json
import { readFileSync } from 'node:fs';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';

if (Number(process.versions.node.split('.')[0]) < 22) {
  throw new Error(`Node ${process.versions.node} is too old: the packages need 22 or newer.`);
}

const text = readFileSync(process.argv[2], 'utf8');
const SAMPLES = 30;

let body;
class Sent extends Error {}
const fetch = async (_url, init) => {
  body = init.body;
  throw new Sent();
};
const targets = {
  'openai/responses': createOpenAI({ apiKey: 'none', fetch }).responses('gpt-4o'),
  'anthropic/messages': createAnthropic({ apiKey: 'none', fetch })('claude-sonnet-4-5'),
  'google/generateContent': createGoogle({ apiKey: 'none', fetch })('gemini-2.5-flash'),
};

console.log(`node ${process.versions.node}, ${(text.length / 1e6).toFixed(1)} MB of prompt, ${SAMPLES} samples each`);
for (const [name, model] of Object.entries(targets)) {
  const times = [];
  for (let sample = -5; sample < SAMPLES; sample++) {
    body = undefined;
    const start = performance.now();
    try {
      await model.doGenerate({ prompt: JSON.parse(text) });
    } catch (error) {
      if (body === undefined) throw error;
    }
    // The first few warm up the compiler.
    if (sample >= 0) times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const median = times[times.length / 2];
  console.log(`${name.padEnd(24)} fastest ${times[0].toFixed(2)} ms, median ${median.toFixed(2)} ms, body ${(body.length / 1e6).toFixed(1)} MB`);
}
