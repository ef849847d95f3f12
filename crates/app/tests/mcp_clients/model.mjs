// A model on loopback that calls one tool of the server and then repeats what it was answered. It speaks the
// APIs of the three hosts: OpenAI Responses (codex), Anthropic Messages (claude), Gemini.
import http from 'node:http';

const FINAL = 'The agent has answered.';

// The name under which a host offers a tool to its model, with the namespace it lies in, if it lies in one.
function offered(tools, wanted) {
  for (const tool of tools ?? []) {
    if (tool.type === 'namespace') {
      const inner = offered(tool.tools, wanted);
      if (inner) return { name: inner.name, namespace: tool.name };
    }
    for (const one of tool.functionDeclarations ?? [tool]) {
      const name = one.name ?? one.function?.name ?? '';
      if (name.endsWith(wanted)) return { name };
    }
  }
  return undefined;
}

function sse(response, events) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const [name, data] of events) {
    response.write(`${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`);
  }
  response.end();
}

const json = (response, value) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
};

function responses(response, call) {
  const item = call
    ? { type: 'function_call', id: 'fc_1', call_id: 'call_1', ...call.tool, arguments: JSON.stringify(call.input), status: 'completed' }
    : { type: 'message', id: 'm_1', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: FINAL, annotations: [] }] };
  const usage = { input_tokens: 1, input_tokens_details: { cached_tokens: 0 }, output_tokens: 1, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 2 };
  sse(response, [
    ['response.created', { type: 'response.created', response: { id: 'r_1' } }],
    ['response.output_item.done', { type: 'response.output_item.done', output_index: 0, item }],
    ['response.completed', { type: 'response.completed', response: { id: 'r_1', usage } }],
  ]);
}

function anthropic(response, request, call) {
  const content = call
    ? { type: 'tool_use', id: 'toolu_1', name: call.tool.name, input: {} }
    : { type: 'text', text: '' };
  const delta = call
    ? { type: 'input_json_delta', partial_json: JSON.stringify(call.input) }
    : { type: 'text_delta', text: FINAL };
  const stop_reason = call ? 'tool_use' : 'end_turn';
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: request.model, content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } };
  if (!request.stream) {
    const whole = call ? { ...content, input: call.input } : { type: 'text', text: FINAL };
    return json(response, { ...message, content: [whole], stop_reason });
  }
  sse(response, [
    ['message_start', { type: 'message_start', message }],
    ['content_block_start', { type: 'content_block_start', index: 0, content_block: content }],
    ['content_block_delta', { type: 'content_block_delta', index: 0, delta }],
    ['content_block_stop', { type: 'content_block_stop', index: 0 }],
    ['message_delta', { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } }],
    ['message_stop', { type: 'message_stop' }],
  ]);
}

function gemini(response, path, call) {
  const part = call ? { functionCall: { name: call.tool.name, args: call.input } } : { text: FINAL };
  const value = {
    candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  };
  if (path.includes('countTokens')) return json(response, { totalTokens: 1 });
  return path.includes('stream') ? sse(response, [['', value]]) : json(response, value);
}

// Starts the model. `calls` is the tool and its arguments; `requests` collects what the host asked.
export async function start(tool, input) {
  const requests = [];
  let called = false;
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => (body += piece));
    request.on('end', () => {
      const path = request.url ?? '';
      let asked = {};
      try {
        asked = JSON.parse(body || '{}');
      } catch {
        // It is not for the model.
      }
      requests.push({ path, body });
      const found = called ? undefined : offered(asked.tools, tool);
      called ||= found !== undefined;
      const call = found && { tool: found, input };
      if (path.includes('/responses')) return responses(response, call);
      if (path.includes('/messages/count_tokens')) return json(response, { input_tokens: 1 });
      if (path.includes('/messages')) return anthropic(response, asked, call);
      if (path.includes(':')) return gemini(response, path, call);
      return json(response, { data: [], models: [], object: 'list' });
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address();
  return { port, requests, final: FINAL, wasCalled: () => called, stop: () => server.closeAllConnections() ?? server.close() };
}
