// The official TypeScript client, over standard input and output and over HTTP.
import { spawn } from 'node:child_process';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [attache, modules] = process.argv.slice(2);
const require = createRequire(path.join(modules, 'index.js'));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)));
const { Client } = await load('client/index.js');
const { StdioClientTransport } = await load('client/stdio.js');
const { StreamableHTTPClientTransport } = await load('client/streamableHttp.js');

const place = fs.mkdtempSync(path.join(os.tmpdir(), 'attache-ts-'));
const [home, project] = ['home', 'project'].map((name) => path.join(place, name));
fs.mkdirSync(home);
fs.mkdirSync(path.join(project, '.git'), { recursive: true });
fs.writeFileSync(path.join(project, 'treasure.txt'), 'the parrot lives in zanzibar\n');
const env = { HOME: home, PATH: '/usr/bin:/bin' };

async function use(client) {
  const { tools } = await client.listTools();
  const names = ['Task', 'TaskOutput', 'TaskStop', 'subagent_list', 'subagent_describe', 'subagent_run'];
  assert.deepEqual(tools.map((tool) => tool.name), names);
  // The client checks every structured answer against the schema it was told.
  const listed = await client.callTool({ name: 'subagent_list', arguments: {} });
  assert.ok(listed.structuredContent.agents.some((agent) => agent.name === 'Explore'));
  await client.callTool({ name: 'subagent_describe', arguments: { name: 'Explore' } });
  const told = [];
  const run = await client.callTool(
    { name: 'subagent_run', arguments: { name: 'Explore', task: 'where is zanzibar?' } },
    undefined,
    { onprogress: (progress) => told.push(progress.message) },
  );
  assert.equal(run.structuredContent.success, true, JSON.stringify(run));
  assert.match(run.structuredContent.output, /treasure\.txt/);
  assert.ok(told.some((message) => /turn 1/.test(message)), told.join());
  const failed = await client.callTool({ name: 'Task', arguments: { subagent_type: 'nobody', prompt: 'x', description: 'x' } });
  assert.equal(failed.isError, true);
  const started = await client.callTool({
    name: 'Task',
    arguments: { subagent_type: 'Explore', prompt: 'where is zanzibar?', description: 'look', run_in_background: true },
  });
  const agent_id = started.structuredContent.agent_id;
  const output = await client.callTool({ name: 'TaskOutput', arguments: { agent_id } });
  assert.equal(output.structuredContent.status, 'goal', JSON.stringify(output));
  const { contents } = await client.readResource({ uri: `attache://runs/${agent_id}` });
  assert.equal(JSON.parse(contents[0].text).agent_id, agent_id);
  const { prompts } = await client.listPrompts();
  assert.ok(prompts.some((prompt) => prompt.name === 'explore'));
  await client.getPrompt({ name: 'explore', arguments: { task: 'look' } });
  await client.setLoggingLevel('error');
  await client.ping();
}

const newClient = () => new Client({ name: 'typescript', version: '0' }, { capabilities: {} });
try {
  const overPipes = newClient();
  await overPipes.connect(new StdioClientTransport({ command: attache, args: ['mcp'], env, cwd: project }));
  await use(overPipes);
  await overPipes.close();

  const server = spawn(attache, ['mcp', '--http', '127.0.0.1:0'], {
    cwd: project, env: { ...env, ATTACHE_MCP_TOKEN: 'open sesame' }, stdio: ['ignore', 'ignore', 'pipe'],
  });
  const line = await new Promise((done) => server.stderr.once('data', (piece) => done(String(piece))));
  const url = new URL(line.match(/http:\S+/)[0]);
  const stranger = newClient();
  await assert.rejects(stranger.connect(new StreamableHTTPClientTransport(url)));
  const overHttp = newClient();
  const requestInit = { headers: { authorization: 'Bearer open sesame' } };
  await overHttp.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  await use(overHttp);
  await overHttp.close();
  server.kill('SIGTERM');
  assert.equal(await new Promise((done) => server.on('close', done)), 0);
  console.log('ok      TypeScript client, standard input and output, HTTP');
} finally {
  fs.rmSync(place, { recursive: true, force: true });
}
