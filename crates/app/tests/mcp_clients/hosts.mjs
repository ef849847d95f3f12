// Real hosts, with a model of ours on loopback: `attache mcp install` sets the server up, the host finds the tools,
// its model calls one, and the host's next request holds the agent's answer.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { start } from './model.mjs';

const [attache, bin, ...wanted] = process.argv.slice(2);
const SECRET = 'the parrot lives in zanzibar';
const TOOL = 'subagent_run';
const INPUT = { name: 'Explore', task: 'where is zanzibar?', model: 'offline' };

const HOSTS = {
  codex: (port, home) => {
    fs.appendFileSync(
      path.join(home, '.codex/config.toml'),
      `\n[model_providers.lab]\nname = "lab"\nbase_url = "http://127.0.0.1:${port}/v1"\nwire_api = "responses"\n`,
    );
    return {
      words: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '-c', 'model_provider="lab"', '-c', 'model="gpt-5"', 'ask the agent'],
      env: {},
    };
  },
  claude: (port) => ({
    words: ['-p', 'ask the agent', '--allowedTools', 'mcp__attache__subagent_run', '--model', 'claude-sonnet-4-5'],
    env: {
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
      ANTHROPIC_API_KEY: 'none',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      // Its model is offered the tools at once, not through a search.
      ENABLE_TOOL_SEARCH: 'false',
    },
  }),
  gemini: (port, home) => {
    const file = path.join(home, '.gemini/settings.json');
    const settings = JSON.parse(fs.readFileSync(file, 'utf8'));
    settings.security = { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } };
    settings.privacy = { usageStatisticsEnabled: false };
    settings.telemetry = { enabled: false };
    fs.writeFileSync(file, JSON.stringify(settings));
    return {
      words: ['-p', 'ask the agent', '--yolo', '-m', 'gemini-2.5-flash'],
      env: { GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${port}`, GEMINI_CLI_NO_RELAUNCH: 'true' },
    };
  },
};

async function check(host) {
  const place = fs.mkdtempSync(path.join(os.tmpdir(), `attache-${host}-`));
  const [home, project] = ['home', 'project'].map((name) => path.join(place, name));
  fs.mkdirSync(path.join(home, '.codex'), { recursive: true });
  fs.mkdirSync(project);
  fs.writeFileSync(path.join(project, 'treasure.txt'), `${SECRET}\n`);
  spawnSync('git', ['init', '-q'], { cwd: project });
  const base = { HOME: home, PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`, TERM: 'dumb', NO_COLOR: '1' };
  const installed = spawnSync(attache, ['mcp', 'install', host, '--yes'], { env: base, cwd: project, encoding: 'utf8' });
  if (installed.status !== 0) throw new Error(`install failed: ${installed.stderr}`);
  const model = await start(TOOL, INPUT);
  const { words, env } = HOSTS[host](model.port, home);
  let said = '';
  const ended = await new Promise((done) => {
    const child = spawn(path.join(bin, host), words, { cwd: project, env: { ...base, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (said += piece));
    const patience = setTimeout(() => child.kill('SIGKILL'), 90_000);
    child.on('close', (code) => (clearTimeout(patience), done(code)));
    child.on('error', (error) => (clearTimeout(patience), (said += error), done(-1)));
  });
  model.stop();
  fs.rmSync(place, { recursive: true, force: true });
  const answered = model.requests.some(({ body }) => body.includes(SECRET));
  if (!model.wasCalled()) throw new Error(`it did not offer the tool to its model (exit ${ended}): ${said.slice(-2000)}`);
  if (!answered) throw new Error(`its next request does not hold the answer (exit ${ended}): ${said.slice(-2000)}`);
  if (!said.includes(model.final)) throw new Error(`it did not print the model's last words (exit ${ended}): ${said.slice(-2000)}`);
}

let failed = false;
for (const host of wanted.length ? wanted : Object.keys(HOSTS)) {
  const began = Date.now();
  try {
    await check(host);
    console.log(`ok      ${host} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed = true;
    console.log(`FAILED  ${host}: ${error.message}`);
  }
}
process.exit(failed ? 1 : 0);
