// The model that real agents talk to in tests: it listens on loopback only, and says what script.json tells it to.
//
//   node fake-model.mjs SCRIPT.json [LOG]      prints "LISTENING <port>" once it is ready
//
// It speaks the four wire protocols that the agents under test use: OpenAI chat completions, OpenAI responses, Anthropic
// messages and Google's generateContent. The script is chosen by the last user message that holds "SCENARIO:<word>"; the
// step is the number of the assistant's messages after it, so that a tool loop goes on by itself. An agent's side
// requests (titles, suggestions) carry no tools and get a fixed answer.
//
// Events of a step: {"text"} is streamed in pieces; {"shell", "background"} calls the tool that runs commands, whatever
// this agent calls it, with arguments after its own schema; {"tool", "args"} calls the tool of that name, where "{plan}" in
// an argument stands for the plan file that the agent has told its model of; {"status", "message", "after"} answers that HTTP
// status, and says when to try again; {"hold"} keeps the stream open until the agent hangs up.
import fs from 'node:fs';
import http from 'node:http';

const [scriptFile, logFile] = process.argv.slice(2);
const SCRIPT = JSON.parse(fs.readFileSync(scriptFile, 'utf8'));
const SHELLS = ['run_terminal_command', 'exec_command', 'shell_command', 'shell', 'bash', 'run_shell_command'];
const MODELS = [{ id: 'fake-model', object: 'model', created: 1, owned_by: 'fake', name: 'Fake Model', apiBackend: 'responses', contextWindow: 200000 }];
const log = (entry) => { if (logFile) fs.appendFileSync(logFile, JSON.stringify(entry) + '\n'); };
let made = 0;
const newId = (prefix) => `${prefix}_${process.pid.toString(36)}_${++made}`;

// ---- What was asked: [{role, text}] and the tools on offer, the same for every protocol.

function plain(content) {
  if (content == null) return '';
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return content.map(plain).join('\n');
  return plain(content.text ?? content.content ?? '');
}

// Anthropic and Google wrap a tool's result in a message of the user; what is left of that message is the user's.
function split(role, parts, isResult) {
  const said = plain(parts.filter((p) => !isResult(p)));
  const results = parts.some(isResult) ? [{ role: 'tool', text: '' }] : [];
  return said || !results.length ? [...results, { role, text: said }] : results;
}

const READ = {
  chat: (body) => ({
    messages: body.messages.map((m) => ({ role: m.role, text: plain(m.content) })),
    tools: (body.tools ?? []).map((t) => ({ name: t.function?.name, schema: t.function?.parameters })),
  }),
  responses: (body) => {
    const messages = [];
    for (const item of typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : body.input) {
      if (/_output$/.test(item.type ?? '')) messages.push({ role: 'tool', text: '' });
      else if (item.role && item.role !== 'assistant') messages.push({ role: item.role, text: plain(item.content) });
      // A reply's words, its reasoning and its calls are items of their own here, and one message of the assistant.
      else if (messages.at(-1)?.role !== 'assistant') messages.push({ role: 'assistant', text: '' });
    }
    return { messages, tools: (body.tools ?? []).map((t) => ({ name: t.name ?? t.type, schema: t.parameters })) };
  },
  anthropic: (body) => ({
    messages: body.messages.flatMap((m) => {
      const parts = typeof m.content === 'string' ? [{ type: 'text', text: m.content }] : m.content;
      return split(m.role, parts, (p) => p.type === 'tool_result');
    }),
    tools: (body.tools ?? []).map((t) => ({ name: t.name, schema: t.input_schema })),
  }),
  google: (body) => ({
    messages: body.contents.flatMap((m) =>
      m.role === 'model' ? [{ role: 'assistant', text: '' }] : split('user', m.parts, (p) => p.functionResponse)),
    tools: (body.tools ?? []).flatMap((t) => t.functionDeclarations ?? []).map((f) => ({ name: f.name, schema: f.parametersJsonSchema ?? f.parameters })),
  }),
};

// ---- What to say.

function plan({ messages, tools }, body) {
  const scenario = (m) => (m.role === 'user' ? [...m.text.matchAll(/SCENARIO:([a-z]+)/g)].at(-1)?.[1] : undefined);
  const at = messages.findLastIndex((m) => scenario(m));
  if (tools.length < 2 || at < 0) return { name: 'aside', step: 0, events: [{ text: 'Scripted chat' }] };
  let name = scenario(messages[at]);
  const after = messages.slice(at + 1);
  let step = after.filter((m) => m.role === 'assistant').length;
  // The agent speaks to its model by itself, once the script is through: it was woken by something that ended.
  if (step >= SCRIPT[name].length && after.at(-1)?.role === 'user') [name, step] = ['wake', 0];
  const events = SCRIPT[name]?.[step] ?? [{ text: '(the script has ended)' }];
  return { name, step, events: events.map((e) => (e.shell ? call(e, tools) : e.tool ? named(e, body) : e)) };
}

function named({ tool, args = {} }, body) {
  const file = JSON.stringify(body).match(/\/[^"'`\s\\]+\/plan\.md/)?.[0] ?? '/nowhere/plan.md';
  return { call: { id: newId('call'), name: tool, args: JSON.parse(JSON.stringify(args).replaceAll('{plan}', file)) } };
}

function call({ shell, background }, tools) {
  const tool = SHELLS.map((name) => tools.find((t) => t.name?.toLowerCase() === name)).find(Boolean);
  if (!tool) return { text: '(no tool that runs commands)' };
  const args = {};
  for (const [name, schema] of Object.entries(tool.schema?.properties ?? {})) {
    const type = [schema.type].flat()[0]?.toLowerCase();
    if (/^(command|cmd)$/.test(name)) args[name] = type === 'array' ? ['bash', '-lc', shell] : shell;
    else if (background && /^(is_|run_in_)?background$/.test(name)) args[name] = true;
    else if (tool.schema.required?.includes(name)) args[name] = { boolean: false, number: 60000, integer: 60000 }[type] ?? 'A scripted command';
  }
  return { call: { id: newId('call'), name: tool.name, args } };
}

// ---- How each protocol says it. A writer gets `send(object, event name)`.

const usage = { input_tokens: 1000, output_tokens: 25 };
const base = (model) => ({ created: 1700000000, model: model ?? 'fake-model' });

const WRITE = {
  chat(send, { model, stream_options }) {
    const id = newId('chatcmpl');
    const chunk = (more) => send({ id, object: 'chat.completion.chunk', ...base(model), ...more });
    const delta = (d, finish_reason = null) => chunk({ choices: [{ index: 0, delta: d, finish_reason }] });
    let calls = 0;
    return {
      start: () => delta({ role: 'assistant', content: '' }),
      text: (content) => delta({ content }),
      call: (c) => delta({ tool_calls: [{ index: calls++, id: c.id, type: 'function', function: { name: c.name, arguments: JSON.stringify(c.args) } }] }),
      end() {
        delta({}, calls ? 'tool_calls' : 'stop');
        if (stream_options?.include_usage) chunk({ choices: [], usage: { prompt_tokens: 1000, completion_tokens: 25, total_tokens: 1025 } });
        send('[DONE]');
      },
    };
  },

  responses(send, { model }) {
    const id = newId('resp');
    const output = [];
    let sequence = 0;
    let open = null;
    const event = (type, more) => send({ type, sequence_number: sequence++, ...more }, type);
    const response = (status, more) => ({ id, object: 'response', created_at: 1700000000, status, model: model ?? 'fake-model', output: [], tools: [], ...more });
    const close = () => {
      if (!open) return;
      const { item, index, text } = open;
      open = null;
      event('response.output_text.done', { item_id: item.id, output_index: index, content_index: 0, text });
      finish(index, { ...item, status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] });
    };
    const finish = (index, item) => { output[index] = item; event('response.output_item.done', { output_index: index, item }); };
    return {
      start() { event('response.created', { response: response('in_progress') }); },
      text(delta) {
        if (!open) {
          open = { index: output.length, text: '', item: { type: 'message', id: newId('msg'), role: 'assistant', status: 'in_progress', content: [] } };
          event('response.output_item.added', { output_index: open.index, item: open.item });
          event('response.content_part.added', { item_id: open.item.id, output_index: open.index, content_index: 0, part: { type: 'output_text', text: '', annotations: [] } });
        }
        open.text += delta;
        event('response.output_text.delta', { item_id: open.item.id, output_index: open.index, content_index: 0, delta });
      },
      call(c) {
        close();
        const index = output.length;
        const item = { type: 'function_call', id: newId('fc'), call_id: c.id, name: c.name, arguments: '', status: 'in_progress' };
        const args = JSON.stringify(c.args);
        event('response.output_item.added', { output_index: index, item });
        event('response.function_call_arguments.delta', { item_id: item.id, output_index: index, delta: args });
        event('response.function_call_arguments.done', { item_id: item.id, output_index: index, name: c.name, arguments: args });
        finish(index, { ...item, arguments: args, status: 'completed' });
      },
      end() {
        close();
        const total = { ...usage, total_tokens: 1025, input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
        event('response.completed', { response: response('completed', { output, usage: total }) });
      },
    };
  },

  anthropic(send, { model }) {
    const event = (type, more) => send({ type, ...more }, type);
    let index = -1;
    let open = false;
    let calls = 0;
    const close = () => { if (open) event('content_block_stop', { index }); open = false; };
    const begin = (content_block) => { close(); open = true; event('content_block_start', { index: ++index, content_block }); };
    return {
      start: () => event('message_start', { message: { id: newId('msg'), type: 'message', role: 'assistant', model: model ?? 'fake-model', content: [], stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } } }),
      text(text) {
        if (!open) begin({ type: 'text', text: '' });
        event('content_block_delta', { index, delta: { type: 'text_delta', text } });
      },
      call(c) {
        calls++;
        begin({ type: 'tool_use', id: c.id, name: c.name, input: {} });
        event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: JSON.stringify(c.args) } });
        close();
      },
      end() {
        close();
        event('message_delta', { delta: { stop_reason: calls ? 'tool_use' : 'end_turn', stop_sequence: null }, usage: { output_tokens: 25 } });
        event('message_stop', {});
      },
    };
  },

  google(send) {
    const chunk = (parts, more) => send({ candidates: [{ index: 0, content: { role: 'model', parts }, ...more }], usageMetadata: { promptTokenCount: 1000, candidatesTokenCount: 25, totalTokenCount: 1025 }, responseId: 'fake' });
    return {
      start() {},
      text: (text) => chunk([{ text }]),
      call: (c) => chunk([{ functionCall: { id: c.id, name: c.name, args: c.args } }]),
      end: () => chunk([{ text: '' }], { finishReason: 'STOP' }),
    };
  },
};

// One answer without a stream: only asides are asked for like that.
const WHOLE = {
  chat: (text, body) => ({ id: newId('chatcmpl'), object: 'chat.completion', ...base(body.model), choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }], usage: { prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 } }),
  responses: (text, body) => ({ id: newId('resp'), object: 'response', created_at: 1700000000, status: 'completed', model: body.model, output: [{ type: 'message', id: newId('msg'), status: 'completed', role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] }], usage: { ...usage, total_tokens: 1025 } }),
  anthropic: (text, body) => ({ id: newId('msg'), type: 'message', role: 'assistant', model: body.model, content: [{ type: 'text', text }], stop_reason: 'end_turn', stop_sequence: null, usage }),
  google: (text) => ({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }] }),
};

const FAILURE = {
  chat: (message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
  responses: (message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
  anthropic: (message) => ({ type: 'error', error: { type: 'invalid_request_error', message }, request_id: 'req_fake' }),
  google: (message, code) => ({ error: { code, message, status: 'INVALID_ARGUMENT' } }),
};

function answer(kind, { url, headers }, body, response) {
  const read = READ[kind](body);
  // Grok's side requests carry the whole conversation and its tools; only a turn's own have this header.
  if (headers['x-grok-req-id'] && !headers['x-grok-turn-idx']) read.tools = [];
  const { name, step, events } = plan(read, body);
  log({ url, name, step, roles: read.messages.map((m) => m.role[0]).join(''), tools: read.tools.map((t) => t.name), events });
  const json = (status, object) => {
    const after = events[0].after ? { 'retry-after': String(events[0].after) } : {};
    response.writeHead(status, { 'content-type': 'application/json', ...after });
    response.end(JSON.stringify(object));
  };
  if (events[0].status) return json(events[0].status, FAILURE[kind](events[0].message, events[0].status));
  if (kind === 'google' ? !/stream/.test(url) : !body.stream) {
    return json(200, WHOLE[kind](events.map((e) => e.text ?? '').join(''), body));
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', connection: 'close' });
  const writer = WRITE[kind]((object, event) => {
    const data = typeof object === 'string' ? object : JSON.stringify(object);
    response.write(`${event ? `event: ${event}\n` : ''}data: ${data}\n\n`);
  }, body);
  writer.start();
  for (const event of events) {
    if (event.hold) return;
    if (event.call) writer.call(event.call);
    else for (const piece of event.text.match(/[\s\S]{1,11}/gu)) writer.text(piece);
  }
  writer.end();
  response.end();
}

const server = http.createServer(async (request, response) => {
  const path = request.url.split('?')[0];
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const json = (object, status = 200) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(object));
  };
  try {
    if (request.method === 'GET' && path.endsWith('/models')) return json({ object: 'list', data: MODELS, has_more: false });
    if (request.method === 'GET' && path.endsWith('/user')) return json({ userId: 'fake-user', email: 'fake-user@test.invalid' });
    const body = pieces.length ? JSON.parse(Buffer.concat(pieces).toString('utf8')) : {};
    if (path.endsWith('/count_tokens')) return json({ input_tokens: 1000 });
    if (path.endsWith(':countTokens')) return json({ totalTokens: 1000 });
    const kinds = { chat: /\/chat\/completions$/, responses: /\/responses$/, anthropic: /\/messages$/, google: /:(streamG|g)enerateContent$/ };
    const kind = Object.keys(kinds).find((k) => kinds[k].test(path));
    if (request.method === 'POST' && kind) return answer(kind, request, body, response);
    log({ url: `${request.method} ${request.url}`, status: 404 });
    json({ error: { message: 'not here' } }, 404);
  } catch (error) {
    log({ url: request.url, crash: String(error.stack) });
    json({ error: { message: `the scripted model broke: ${error.message}` } }, 500);
  }
});
// Whoever started it holds the other end of its standard input: it never outlives the test.
process.stdin.resume().on('end', () => process.exit(0)).on('error', () => process.exit(0));
server.listen(0, '127.0.0.1', () => console.log(`LISTENING ${server.address().port}`));
